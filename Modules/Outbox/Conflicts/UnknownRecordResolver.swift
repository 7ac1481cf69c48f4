import CoherenceCore
import Foundation

/// Applies a user's decision over a conflict whose record the model does not know, or whose entity the model has moved
/// to another store, in a context that the caller saves. A tool with only a part of the application's model has such
/// conflicts.
///
/// Only a decision that does not change the record can be applied: the resolver changes entries alone.
struct UnknownRecordResolver {
  private let rewriter: EntryRewriter
  private let conflict: OutboxConflictRecord
  private let entries: [OutboxEntryRecord]

  /// - Returns: `nil` for a context without a coordinator.
  /// - Throws: ``ErrorCode/illegalState`` while a process sends an entry of the record.
  init?(_ conflict: OutboxConflictRecord, in context: ManagedObjectContext, _ options: OutboxOptions) throws {
    guard let rewriter = EntryRewriter(in: context, now: options.now) else { return nil }
    self.rewriter = rewriter
    self.conflict = conflict
    entries = try Self.entries(of: conflict, in: context)
    try ConflictResolver.checkAreIdle(entries, options)
  }

  /// The entries of the record, in the order of the record's saves. Another store may have
  /// another record with the same key.
  static func entries(
    of conflict: OutboxConflictRecord, in context: ManagedObjectContext
  ) throws -> [OutboxEntryRecord] {
    let model = context.persistentStoreCoordinator?.managedObjectModel
    let rootNames = model?.recordedNames(ofRoot: conflict.rootName) ?? [conflict.rootName]
    return try context.entryRecords(ofKeys: [conflict.recordKey], rootNames: rootNames)
      .filter { $0.objectID.storeIdentifier == conflict.objectID.storeIdentifier }
      .sorted { $0.precedes($1) }
  }

  /// - Throws: ``ErrorCode/unknownEntity`` for a decision that changes the record.
  func resolve(_ resolution: OutboxResolution) throws {
    guard case .local = resolution, conflict.kind != .deletedOnServer else {
      throw CoherenceError(
        .unknownEntity,
        "The decision changes the record of '\(conflict.entityName)', an entity that this program's model does not "
          + "have in the store; resolve the conflict in the application that has it, or keep the edit.")
    }
    if conflict.kind == .bothChanged {
      let names = OutboxConflictRecord.names(inText: conflict.names)
      var server: [String: OutboxValue] = [:]
      // Without readable values the edit keeps its bases, and the next request finds the conflict again.
      let fields = (try? EntryReader.payload(conflict.payload).0) ?? []
      for field in fields { server[field.name] = field.value }
      try rewriter.rebase(names, on: server, in: entries)
    }
    rewriter.makePending(entries)
  }
}
