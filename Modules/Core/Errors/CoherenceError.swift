/// The one error type of the framework.
///
/// Values of records and passwords never appear in its description: it can be logged as it is.
public struct CoherenceError: Error, Sendable {
  /// What went wrong.
  public var code: ErrorCode
  /// A sentence for a person: what happened, and what to do about it.
  public var message: String
  /// The error that caused this one.
  public var underlying: (any Error)?
  /// For a failed save: whether the change reached the store.
  public var outcome: SaveOutcome
  /// For a save over several stores: what became of each.
  public var outcomes: [StoreIdentifier: SaveOutcome] = [:]
  /// For a failed validation: every failure, not just the first.
  public var failures: [ValidationFailure] = []
  /// For a version conflict: each record with its three states.
  public var conflicts: [Conflict] = []
  /// For a store that a model does not fit: the stored values and records that would have to be dropped.
  public var dataLosses: [DataLoss] = []
  /// For a store that cannot get a uniqueness constraint: the values that several records have.
  public var duplicateKeys: [DuplicateKeys] = []
  /// The records concerned.
  public var objectIDs: [ManagedObjectID] = []
  /// Whether the same call may succeed when it is made again with nothing changed.
  public var isRetryable: Bool

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

extension CoherenceError: CustomStringConvertible {
  public var description: String {
    var text = "\(code): \(message)"
    if !failures.isEmpty { text += " " + failures.map(\.description).joined(separator: " ") }
    return text
  }
}

/// Whether a change reached a store.
public enum SaveOutcome: String, Sendable, Hashable {
  /// Nothing was written.
  case notApplied
  /// The change is in the store.
  case applied
  /// The link broke between the request to commit and its response, and the store could not find out.
  case unknown
}

/// One thing that keeps an object from being saved.
public struct ValidationFailure: Sendable, Hashable, CustomStringConvertible {
  /// ``ErrorCode/missingValue``, ``ErrorCode/invalidValue`` or ``ErrorCode/deleteDenied``.
  public let code: ErrorCode
  public let objectID: ManagedObjectID
  public let entityName: String
  public let propertyName: String
  /// What the model asks for.
  public let reason: String

  public init(
    code: ErrorCode, objectID: ManagedObjectID, entityName: String, propertyName: String, reason: String
  ) {
    self.code = code
    self.objectID = objectID
    self.entityName = entityName
    self.propertyName = propertyName
    self.reason = reason
  }

  public var description: String { "\(entityName).\(propertyName): \(reason)." }
}
