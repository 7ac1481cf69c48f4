/// The stable name of a failure, which programs can match and the documentation explains.
///
/// Codes are open: a store may add its own. Match one with a pattern, `catch let error as CoherenceError where
/// error.code == .versionConflict` or `catch ErrorCode.versionConflict`.
public struct ErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  /// The name of the failure, such as "versionConflict".
  public let rawValue: String
  /// Makes a code of a name.
  public init(rawValue: String) { self.rawValue = rawValue }
  /// Makes a code of a name, for stores with codes of their own. A code of the framework is a static property.
  public init(_ rawValue: String) { self.rawValue = rawValue }
  /// The name of the failure.
  public var description: String { rawValue }

  /// Matches an error with a code, for `catch` clauses.
  public static func ~= (code: ErrorCode, error: any Error) -> Bool {
    (error as? CoherenceError)?.code == code
  }
}

// MARK: - Models

extension ErrorCode {
  /// The model is invalid; the message lists every mistake.
  public static let invalidModel = ErrorCode("invalidModel")
  /// No model of that name is registered, or no model file is at the location.
  public static let modelNotFound = ErrorCode("modelNotFound")
  /// The model has no such entity.
  public static let unknownEntity = ErrorCode("unknownEntity")
  /// No transformer of that name is registered.
  public static let unknownTransformer = ErrorCode("unknownTransformer")
  /// The entity has no such property.
  public static let unknownProperty = ErrorCode("unknownProperty")
}

// MARK: - Stores

extension ErrorCode {
  /// No backend is registered for the store type.
  public static let unknownStoreType = ErrorCode("unknownStoreType")
  /// A backend for that store type is registered already.
  public static let storeTypeRegisteredTwice = ErrorCode("storeTypeRegisteredTwice")
  /// The file, or the server's schema, is not a store of that type, or a partial model finds no store to share.
  public static let notADatabase = ErrorCode("notADatabase")
  /// A request, a model or a value is larger or more complex than the store's engine, or the evaluator, can take.
  public static let limitExceeded = ErrorCode("limitExceeded")
  /// Another program changed the store's tables while the store was open; detach it and attach it again.
  public static let schemaChanged = ErrorCode("schemaChanged")
  /// The store's content is damaged.
  public static let storeCorrupt = ErrorCode("storeCorrupt")
  /// The store can be read but not written.
  public static let storeReadOnly = ErrorCode("storeReadOnly")
  /// The store's location cannot be accessed: its directory is missing, or access is denied.
  public static let storeInaccessible = ErrorCode("storeInaccessible")
  /// The store is attached to this coordinator already.
  public static let storeAttachedTwice = ErrorCode("storeAttachedTwice")
  /// The model differs from the store's model, and the options do not allow the necessary migration.
  public static let incompatibleModel = ErrorCode("incompatibleModel")
  /// Records of the store have the same key, so that the store cannot get the constraint that keeps the key unique; see
  /// ``CoherenceError/duplicateKeys`` and ``StoreOption/allowsDuplicateKeys``.
  public static let duplicateKeys = ErrorCode("duplicateKeys")
  /// The store was detached, or never attached.
  public static let storeDetached = ErrorCode("storeDetached")
  /// No attached store has the entity.
  public static let noStore = ErrorCode("noStore")
  /// An option of the store has a wrong name, type or value.
  public static let invalidOption = ErrorCode("invalidOption")
  /// The server cannot be reached.
  public static let serverUnreachable = ErrorCode("serverUnreachable")
  /// The server refused the credentials.
  public static let authenticationFailed = ErrorCode("authenticationFailed")
  /// The server, or the pool, has no connection left.
  public static let tooManyConnections = ErrorCode("tooManyConnections")
  /// The connection broke.
  public static let connectionLost = ErrorCode("connectionLost")
  /// Another process or connection held a lock for longer than the timeout.
  public static let storeBusy = ErrorCode("storeBusy")
  /// The disk, or the quota, is full.
  public static let storeFull = ErrorCode("storeFull")
  /// The operating system reported an error of input or output, or a store failed with an error of unknown kind.
  public static let inputOutput = ErrorCode("inputOutput")
  /// The backend does not support the request.
  public static let unsupported = ErrorCode("unsupported")
}

// MARK: - Objects and values

extension ErrorCode {
  /// The type of the value does not fit the property, or the request needs a property of another kind.
  public static let wrongType = ErrorCode("wrongType")
  /// The value cannot be stored or used: not a number, out of range, text with U+0000, or a wrong number of values.
  public static let invalidValue = ErrorCode("invalidValue")
  /// No record has that identifier, or it was deleted.
  public static let objectNotFound = ErrorCode("objectNotFound")
  /// The object was deleted.
  public static let objectDeleted = ErrorCode("objectDeleted")
  /// A save depends on an object that an accessor, which cannot throw, could not load or change, although the record
  /// may exist; see ``ManagedObjectContext/reportedErrors``.
  public static let objectUnavailable = ErrorCode("objectUnavailable")
  /// An accessor, which cannot throw, used an object whose record does not exist any more. A save that depends on the
  /// object is refused with the same code; see ``ManagedObjectContext/reportedErrors``.
  public static let recordVanished = ErrorCode("recordVanished")
  /// A text is no identifier of a saved record, an identifier is temporary, or it fits several models.
  public static let invalidIdentifier = ErrorCode("invalidIdentifier")
  /// A snapshot is of another record or entity than the object that it is used with.
  public static let snapshotMismatch = ErrorCode("snapshotMismatch")
  /// A snapshot to be inserted names a record that exists.
  public static let objectExists = ErrorCode("objectExists")
  /// The object belongs to another context.
  public static let wrongContext = ErrorCode("wrongContext")
  /// A relationship would connect records of two stores.
  public static let relationshipCrossesStores = ErrorCode("relationshipCrossesStores")
  /// The context has no coordinator, or its coordinator no store.
  public static let contextWithoutStore = ErrorCode("contextWithoutStore")
}

// MARK: - Fetching

extension ErrorCode {
  /// The text of a predicate cannot be read, or it does not fit the entity.
  public static let invalidPredicate = ErrorCode("invalidPredicate")
  /// The fetch or batch request contradicts itself, or combines options that exclude each other.
  public static let invalidFetchRequest = ErrorCode("invalidFetchRequest")
  /// The result of a sum or of a calculation is out of the range of its type.
  public static let arithmeticOverflow = ErrorCode("arithmeticOverflow")
  /// The task was cancelled.
  public static let cancelled = ErrorCode("cancelled")
  /// A stream was not read for too long, and has released its connection.
  public static let streamExpired = ErrorCode("streamExpired")
  /// A pinned snapshot was not read for too long, or lost its state, and has released its connections.
  public static let snapshotExpired = ErrorCode("snapshotExpired")
  /// A block of a test loads faults one by one; see ``expectNoRepeatedFaults(limit:file:line:_:)``.
  public static let repeatedFaults = ErrorCode("repeatedFaults")
}

// MARK: - Saving

extension ErrorCode {
  /// Objects do not satisfy the model; every failure is listed in ``CoherenceError/failures``.
  public static let validationFailed = ErrorCode("validationFailed")
  /// A required property has no value.
  public static let missingValue = ErrorCode("missingValue")
  /// A deny rule forbids a delete.
  public static let deleteDenied = ErrorCode("deleteDenied")
  /// Records were changed or deleted by another writer; see ``CoherenceError/conflicts``.
  public static let versionConflict = ErrorCode("versionConflict")
  /// Two records would have equal values in a uniqueness constraint.
  public static let uniquenessViolated = ErrorCode("uniquenessViolated")
  /// A relationship points to a record that does not exist any more.
  public static let danglingReference = ErrorCode("danglingReference")
  /// Several stores were saved and not all succeeded; see ``CoherenceError/outcomes``.
  public static let partialSave = ErrorCode("partialSave")
}

// MARK: - Actions

extension ErrorCode {
  /// The Connect, the outbox or the refresher does not manage the entity.
  public static let unmanagedEntity = ErrorCode("unmanagedEntity")
  /// The entity has no name.
  public static let missingEntityName = ErrorCode("missingEntityName")
  /// A merge found a record without a key, or two records with one key.
  public static let invalidMergeKey = ErrorCode("invalidMergeKey")
  /// The arguments of a merge contradict each other, or are out of range.
  public static let invalidMergeOption = ErrorCode("invalidMergeOption")
  /// The records of a merge contradict each other in a relationship.
  public static let contradictoryLinks = ErrorCode("contradictoryLinks")
  /// A merge would delete a larger share of the records than it may, or all of them because its input names none.
  public static let excessiveDeletion = ErrorCode("excessiveDeletion")
  /// An action, or a block of a context, took longer than its timeout, or a stop longer than its limit.
  public static let timedOut = ErrorCode("timedOut")
  /// An action did not run because an action that it depends on did not succeed.
  public static let dependencyFailed = ErrorCode("dependencyFailed")
  /// An action was cancelled because an equal action was submitted later and replaces it.
  public static let actionReplaced = ErrorCode("actionReplaced")
  /// An action would wait for another action that waits for the first, so that neither could finish.
  public static let deadlock = ErrorCode("deadlock")
  /// The present state of the called object, such as a context, a Connect or an outbox, does not allow the call.
  public static let illegalState = ErrorCode("illegalState")
}
