public import CoherenceCore

extension ActionContext {
  /// Updates and inserts the records of a page, deletes the records of its tombstones, and saves, in one merge.
  ///
  /// A merge of the same page again writes nothing, so that a client that lost a cursor may ask for the page once more.
  /// Tombstones delete records of subentities too. The page's ``DeltaPage/cursor`` is not stored: the caller stores the
  /// cursor in the same context before the merge, and one transaction has both. After a result with
  /// ``MergeResult/postponed`` records the caller has to keep the former cursor, so that the page comes again: a merge
  /// without ``MergeOptions/saves`` lets the caller see the result before the save.
  ///
  /// For races with other writers, threads and cost, see
  /// ``merge(objects:for:ignoreAttributes:subsetFilter:condition:options:)``. The tombstones cost one more condition of the
  /// read, so that pages of some hundred tombstones are best.
  ///
  /// - Parameters:
  ///   - ignoreAttributes: The attributes and relationships that existing records keep.
  ///   - subsetFilter: Limits the deletion of a complete page to the records of its scope. Tombstones need no limit.
  ///   - condition: Protects stored records that do not satisfy the condition from being changed or deleted.
  ///   - options: The page decides the mode. The maximum deleted share counts for a complete page alone.
  /// - Returns: The counts of the merge.
  /// - Throws: ``ErrorCode/invalidMergeKey`` also for a tombstone with another number of values than the key, or without a
  ///   value; ``ErrorCode/invalidMergeOption`` also for a complete page with a next page; the errors of merges of
  ///   records.
  @discardableResult
  public func merge(
    _ page: DeltaPage, for entity: EntityDescription, ignoreAttributes: [String] = [],
    subsetFilter: FetchPredicate? = nil, condition: FetchPredicate = .constant(true),
    options: MergeOptions = MergeOptions()
  ) throws -> MergeResult {
    try merge(
      [page], for: entity, ignoreAttributes: ignoreAttributes, subsetFilter: subsetFilter, condition: condition,
      options: options, beforeSaving: { _ in })
  }

  /// Merges successive pages of changes together, in one save.
  ///
  /// - Parameter beforeSaving: Makes further changes for the save. Called after each plan of the merge, with the counts of
  ///   the plan, also if the plan changes no record.
  package func merge(
    _ pages: [DeltaPage], for entity: EntityDescription, ignoreAttributes: [String] = [],
    subsetFilter: FetchPredicate? = nil, condition: FetchPredicate = .constant(true),
    options: MergeOptions, beforeSaving: (MergeResult) throws -> Void
  ) throws -> MergeResult {
    var scope = MergeScope(
      entity: entity, ignoredAttributes: Set(ignoreAttributes), subsetFilter: nil, condition: condition,
      options: options)
    let page = try pages.combined(try layout(of: scope), scope.options.duplicates)
    guard !page.isComplete || !page.hasMore else {
      throw CoherenceError(
        .invalidMergeOption,
        "A page of changes of '\(entity.name)' is complete and has a next page, so that its merge would delete the "
          + "records of the next pages. Let a complete page have all records, or merge all pages by `mergePages`.")
    }
    // A complete page too: the pages after its cursor do not have its values again.
    scope.options.isPageOfChanges = true
    if page.isComplete {
      scope.options.mode = .replace
      scope.subsetFilter = subsetFilter
    } else if page.tombstones.isEmpty {
      scope.options.mode = .upsertOnly
    } else {
      scope.options.mode = .replace
      scope.options.tombstones = Set(page.tombstones)
      scope.options.includesSubentities = true
      scope.options.maximumDeletedShare = 1
      scope.subsetFilter = try self.predicate(of: page.tombstones, entity)
    }
    return try merge(scope, beforeSaving: beforeSaving) { RecordInput(page.records, layout: $0) }
  }

  /// The condition that the records of some keys satisfy.
  private func predicate(of keys: [MergeKey], _ entity: EntityDescription) throws -> FetchPredicate {
    // The merge refuses an unmanaged entity in its own words.
    guard let names = managed.uniquenessAttributes(of: entity) else { return .constant(false) }
    guard keys.allSatisfy({ $0.values.count == names.count && !$0.isIncomplete }) else {
      throw CoherenceError(
        .invalidMergeKey,
        "A tombstone of '\(entity.name)' lacks a value for the key \(names.joined(separator: ", ")); give each tombstone "
          + "all values of the key.")
    }
    let paths = names.map { FetchExpression.path(PropertyPath(names: [$0])) }
    if paths.count == 1 { return .membership(paths[0], in: keys.map { $0.values[0] }) }
    return predicate(of: keys, paths)
  }

  /// The condition that the records of keys of several attributes satisfy. Keys that differ in one attribute alone are one
  /// membership: with a comparison for each key, the cost of each record would grow with the number of keys.
  private func predicate(of keys: [MergeKey], _ paths: [FetchExpression]) -> FetchPredicate {
    let distinctCounts = paths.indices.map { column in Set(keys.map { $0.values[column] }).count }
    let widest = distinctCounts.indices.max { distinctCounts[$0] < distinctCounts[$1] } ?? 0
    var groups: [(common: [AttributeValue], values: [AttributeValue])] = []
    var groupIndexes: [[AttributeValue]: Int] = [:]
    for key in keys {
      var common = key.values
      let value = common.remove(at: widest)
      if let index = groupIndexes[common] {
        groups[index].values.append(value)
      } else {
        groupIndexes[common] = groups.count
        groups.append((common, [value]))
      }
    }
    var otherPaths = paths
    let widestPath = otherPaths.remove(at: widest)
    return .or(
      groups.map { group -> FetchPredicate in
        let common: [FetchPredicate] = zip(otherPaths, group.common).map { .comparison($0, .equal, .value($1)) }
        return .and(common + [.membership(widestPath, in: group.values)])
      })
  }
}
