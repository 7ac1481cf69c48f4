import CoherenceCore
import CoherenceReconciliation

/// Reconciles one plan of a merge with the pending edits of a source, and collects the decisions.
///
/// The source is asked for inserts, deletions and updates with a conflict or without a reply before the rows are read,
/// and for the records that the plan would change afterwards. Used by the thread of the merge.
final class PendingReconciliation {
  /// An input record with the row of a pending insert, or of a pending update with a conflict or without a reply; in a
  /// page of changes, with any row.
  struct Match {
    let index: Int
    let id: ManagedObjectID
  }

  let source: any PendingEdits
  let policy: MergeOptions.PendingEditsPolicy
  let context: ActionContext
  let layout: MergeLayout
  /// Whether records of the merge's entity can have pending edits.
  private let isCovered: Bool
  /// Whether the input is a page of changes of records that can have pending edits.
  let isPageOfChanges: Bool
  /// The beginning of the request for the input.
  private let requestedAt: ContinuousClock.Instant
  /// The keys of the records that the server has deleted; `nil` for input without such keys.
  let tombstones: Set<MergeKey>?
  /// Whether the input contains all records, or is a page of such input.
  let isWhole: Bool
  /// Whether no record that the input lacks exists on the server, subentities included.
  let isComplete: Bool
  /// The filter of the records that the input would name; `nil` without a filter, and for input with tombstones.
  let filter: PreparedPredicate?
  /// The names of the properties that the filter reads.
  let filteredNames: Set<String>
  /// The pending inserts of the merge's entity, by record.
  private(set) var pendingInserts: [ManagedObjectID: PendingEdit] = [:]
  /// The pending updates of the merge's entity over which a conflict waits, by record.
  private(set) var conflictingUpdates: [ManagedObjectID: PendingEdit] = [:]
  /// The records of the merge's entity with a pending update whose reply has not arrived.
  private(set) var unansweredUpdates: Set<ManagedObjectID> = []
  /// The pending deletions of the merge's entity, by key.
  private(set) var pendingDeletions: [MergeKey: PendingEdit] = [:]
  /// The pending deletions of records without a key.
  private(set) var keylessDeletions: [PendingEdit] = []
  /// The keys with pending deletions of the destinations of links, by the name of the destination entity.
  private var deletedKeys: [String: Set<[AttributeValue]>] = [:]
  /// The input records with the rows of pending inserts, of conflicts and of updates without a reply; in a page of
  /// changes, all input records with a row.
  private(set) var matches: [Match] = []
  private(set) var differences = InputDifferences()
  /// The decisions over pending edits, in the order of the plan.
  private(set) var decisions: [PendingDecision] = []
  /// The number of records whose pending edits the merge keeps against its input.
  var keptCount = 0
  /// The input records that wait for the end of a pending edit; see ``MergeResult/postponed``.
  var postponed: Set<Int> = []
  /// The number of deletions by the server that wait for the end of a pending edit.
  var postponedDeletions = 0
  /// The records that pending edits keep although the input itself would delete them.
  var keptRecords: Set<ManagedObjectID> = []

  /// Asks the context's source for the pending inserts and deletions of the merge's entity, and for its updates with a
  /// conflict or without a reply.
  ///
  /// - Returns: `nil` for a context without a source, and for an entity that neither itself nor by its relationships and
  ///   delete rules has anything to do with the source.
  init?(in context: ActionContext, _ scope: MergeScope, layout: MergeLayout) throws {
    guard let source = context.pendingEdits else { return nil }
    isCovered = source.covers(layout.entity)
    isPageOfChanges = isCovered && scope.options.isPageOfChanges
    guard
      isCovered || layout.relationships.contains(where: { source.covers($0.destination) })
        || layout.entity.reachesByCascades(source.covers)
    else { return nil }
    self.source = source
    policy = scope.options.pendingEdits
    self.context = context
    self.layout = layout
    requestedAt = scope.options.requestedAt ?? context.madeAt
    tombstones = scope.options.tombstones.map { keys in
      Set(keys.map { $0.converted(to: layout.keys.map(\.description)) })
    }
    isWhole = scope.options.isWhole
    isComplete =
      isWhole && !scope.options.isPageOfWhole && scope.subsetFilter == nil
      && (scope.options.includesSubentities || layout.entity.subentities.isEmpty)
    let subset = isCovered && tombstones == nil ? scope.subsetFilter : nil
    filter = try subset.map { try PreparedPredicate($0, for: layout.entity) }
    filteredNames = filter?.predicate.ownNames ?? []
    guard isCovered else { return }
    for edit in try edits(.insertsAndDeletions, layout.entity) {
      switch edit.kind {
      case .insert: pendingInserts[edit.recordID] = edit
      case .delete:
        if let key = Self.key(of: edit, layout.keys.map(\.name)) {
          pendingDeletions[MergeKey(values: key)] = edit
        } else {
          keylessDeletions.append(edit)
        }
      case .update:
        if edit.conflict != nil { conflictingUpdates[edit.recordID] = edit }
        if edit.awaitsReply { unansweredUpdates.insert(edit.recordID) }
      }
    }
  }

  private func edits(_ selection: PendingEditsQuery.Selection, _ entity: EntityDescription) throws -> [PendingEdit] {
    try context.refuseIfCanceled()
    let query = PendingEditsQuery(selection, of: entity, requestedAt: requestedAt)
    return try source.pendingEdits(query, in: context)
  }

  /// Returns the pending edits of some records of an entity.
  func edits(of ids: [ManagedObjectID], _ entity: EntityDescription) throws -> [ManagedObjectID: PendingEdit] {
    guard !ids.isEmpty, source.covers(entity) else { return [:] }
    let edits = try self.edits(.records(ids), entity)
    var result: [ManagedObjectID: PendingEdit] = Dictionary(minimumCapacity: edits.count)
    for edit in edits { result[edit.recordID] = edit }
    return result
  }

  /// Returns the key of a deleted record, with the values in the order of `names`; `nil` without a complete key.
  private static func key(of edit: PendingEdit, _ names: [String]) -> [AttributeValue]? {
    let values = names.compactMap { edit.base[$0] }
    return values.count == names.count && !values.isIncompleteKey ? values : nil
  }

  // MARK: Destinations of links

  /// The keys of a relationship's destination with a pending deletion.
  func deletedKeys(of destination: MergeDestination) throws -> Set<[AttributeValue]> {
    let entity = destination.relationship.destination
    if let keys = deletedKeys[entity.name] { return keys }
    if entity === layout.entity, destination.mayBeInput(of: layout) { return Set(pendingDeletions.keys.map(\.values)) }
    var keys: Set<[AttributeValue]> = []
    if source.covers(entity) {
      let names = destination.keyAttributes.map(\.name)
      for edit in try edits(.insertsAndDeletions, entity) where edit.kind == .delete {
        if let key = Self.key(of: edit, names) { keys.insert(key) }
      }
    }
    deletedKeys[entity.name] = keys
    return keys
  }

  // MARK: Matches

  /// Notes the row of an input record, if the row is a pending insert, or has a conflict or an update without a reply;
  /// in a page of changes, notes every row.
  @inline(__always) func noteMatch(_ index: Int, _ id: ManagedObjectID) {
    if !isPageOfChanges, pendingInserts.isEmpty, conflictingUpdates.isEmpty, unansweredUpdates.isEmpty { return }
    if isPageOfChanges || pendingInserts[id] != nil || conflictingUpdates[id] != nil || unansweredUpdates.contains(id) {
      matches.append(Match(index: index, id: id))
    }
  }

  /// Forgets the matches and the differences of input records.
  func forget(_ indexes: Set<Int>) {
    matches.removeAll { indexes.contains($0.index) }
    differences.remove(indexes)
  }

  // MARK: Differences

  /// Notes the differences of an input record from its row, so that the record of an edit needs no second reading of the
  /// input.
  func noteDifferences(_ index: Int, of row: Row, from values: ArraySlice<AttributeValue?>) {
    if isCovered { differences.note(index, of: row, from: values) }
  }

  // MARK: Decisions

  /// Adds a decision over a pending edit, which the source carries out when the merge has changed the records.
  func decide(
    over edit: PendingEdit, serverValues: [String: AttributeValue]?, discarded: Set<String> = [],
    conflicting: Set<String> = [], isConflict: Bool, endsConflict: Bool = false
  ) {
    decisions.append(
      PendingDecision(
        over: edit, serverValues: serverValues, discarded: discarded, conflicting: conflicting, isConflict: isConflict,
        endsConflict: endsConflict))
  }

  /// Forgets the decisions over records that unsaved edits of the view keep out of the plan.
  func forgetDecisions(over ids: Set<ManagedObjectID>) {
    if !ids.isEmpty { decisions.removeAll { ids.contains($0.edit.recordID) } }
  }

  /// Carries the decisions out in the context, and adds the counts to the result of the merge.
  func carryOut(countingIn result: inout MergeResult) throws {
    result.keptEdits += keptCount
    result.postponed += postponed.count + postponedDeletions
    result.pendingConflicts += decisions.count(where: \.isConflict)
    if !decisions.isEmpty { try source.carryOut(decisions, in: context) }
  }
}

extension MergeKey {
  /// The key with the values as the store has them. A value that the store cannot have stays, and names no record.
  func converted(to attributes: [AttributeDescription]) -> MergeKey {
    MergeKey(values: zip(attributes, values).map { attribute, value in (try? attribute.type.checked(value)) ?? value })
  }
}
