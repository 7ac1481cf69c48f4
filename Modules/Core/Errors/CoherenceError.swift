/// The error type of the framework: a stable code, a sentence for developers, and the details of the failure.
///
/// The description never contains values of records or passwords, and can be logged. Catch an error by its ``code``:
/// `catch ErrorCode.versionConflict`.
public struct CoherenceError: Error, Sendable {
  /// The stable name of the failure.
  public var code: ErrorCode
  /// A sentence for developers: what failed, and how to correct it.
  public var message: String
  /// The error that caused this one.
  public var underlying: (any Error)?
  /// For a failed save: whether the changes were written.
  public var outcome: SaveOutcome
  /// For a save into several stores: the outcome of each store.
  public var outcomes: [StoreIdentifier: SaveOutcome] = [:]
  /// For a failed validation: every failure, not just the first.
  public var failures: [ValidationFailure] = []
  /// For a version conflict: each record with its three states.
  public var conflicts: [Conflict] = []
  /// For a store that does not fit a model: the stored values and records that would have to be dropped.
  public var dataLosses: [DataLoss] = []
  /// For a store whose records keep it from getting a uniqueness constraint: the constraints with duplicate values.
  public var duplicateKeys: [DuplicateKeys] = []
  /// For a violation of uniqueness: the constraint and the values, if the store names them. In ``objectIDs``, the first
  /// record is the record of the save, and the second record is the present holder of the values.
  public var uniqueness: UniquenessViolation?
  /// The affected records.
  public var objectIDs: [ManagedObjectID] = []
  /// Whether the same call, repeated without a change, may succeed.
  public var isRetryable: Bool

  /// Makes an error, for stores and for code that extends the framework.
  public init(
    _ code: ErrorCode, _ message: String, underlying: (any Error)? = nil, outcome: SaveOutcome = .notApplied,
    isRetryable: Bool = false
  ) {
    self.code = code
    self.message = message
    self.underlying = underlying
    self.outcome = outcome
    self.isRetryable = isRetryable
  }
}

/// The text of an error: the code and the message, followed by the failures of a validation. Contains no values of
/// records.
extension CoherenceError: CustomStringConvertible {
  /// The code, the message, and the failures of a validation.
  public var description: String {
    var text = "\(code): \(message)"
    if !failures.isEmpty { text += " " + failures.map(\.description).joined(separator: " ") }
    return text
  }
}

/// The outcome of a save in a store.
public enum SaveOutcome: String, Sendable, Hashable {
  /// Nothing was written.
  case notApplied
  /// The change is in the store.
  case applied
  /// The connection or the disk failed during the commit, and the outcome could not be determined; or a store of the
  /// program's own threw an error of another type. Read the records to see whether the changes are in the store.
  case unknown
}

/// A violation of the model that keeps an object from being saved.
public struct ValidationFailure: Sendable, Hashable, CustomStringConvertible {
  /// ``ErrorCode/missingValue``, ``ErrorCode/invalidValue`` or ``ErrorCode/deleteDenied``;
  /// ``ErrorCode/validationFailed`` for an error of a validation hook of the object, such as
  /// ``ManagedObject/validateForInsert()``.
  public let code: ErrorCode
  /// The object that violates the model.
  public let objectID: ManagedObjectID
  /// The name of the object's entity.
  public let entityName: String
  /// The name of the property with the violation; empty for a violation of the whole object.
  public let propertyName: String
  /// The violation, as the end of a sentence whose subject is the property: "is below the minimum". The text of an
  /// error that a hook of the object has thrown may contain a value of the record.
  public let reason: String
  /// The violation without values; `nil` for a reason that has none.
  private var reasonWithoutValues: String?
  /// The rule of the attribute that the value does not satisfy, with its bound, for a text in the user's language.
  /// `nil` for a failure of another kind.
  public let rule: ValidationRule?

  /// Makes a failure, for stores and for code that validates records itself.
  public init(
    code: ErrorCode, objectID: ManagedObjectID, entityName: String, propertyName: String, reason: String,
    rule: ValidationRule? = nil
  ) {
    self.code = code
    self.objectID = objectID
    self.entityName = entityName
    self.propertyName = propertyName
    self.reason = reason
    self.rule = rule
  }

  /// Makes the failure of an object whose hook has thrown an error.
  init(thrownByHook error: any Error, objectID: ManagedObjectID, entityName: String, propertyName: String) {
    let message = (error as? CoherenceError)?.message
    self.init(
      code: .validationFailed, objectID: objectID, entityName: entityName, propertyName: propertyName,
      reason: message ?? "\(error)")
    reasonWithoutValues =
      message ?? (error as? any LoggableError)?.logDescription ?? "is refused by a hook (\(error.logText))"
  }

  /// The entity, the property and the violation, as a sentence without values of the record. Of an error that a hook
  /// has thrown, the sentence has the type in place of the text, unless the error is a ``LoggableError``.
  public var description: String {
    let subject = propertyName.isEmpty ? entityName : "\(entityName).\(propertyName)"
    return "\(subject): \(reasonWithoutValues ?? reason)."
  }
}
