public import CoherenceCore

extension ActionContext {
  /// Merges pages of records in sequence. Each page is one save, which deletes at most duplicates of stored records;
  /// see ``MergeOptions/storedDuplicates``.
  ///
  /// With the mode ``MergeOptions/Mode/replace``, a last save deletes the records that no page contains, after the
  /// sequence has ended without an error. Without options no record is deleted.
  ///
  /// ```swift
  /// let pages = http.pages(of: AlbumPage.self, from: request, by: .linkHeader()).map { $0.content.albums }
  /// try await context.mergePages(
  ///   pages, for: album, options: MergeOptions(mode: .replace, maximumDeletedShare: 0.5))
  /// ```
  ///
  /// After an error of a page, or after cancellation, the last save is left out. Earlier pages stay merged, and all
  /// pages can be merged again. A record on two pages gets the values of the later page. A link may lead to a record of
  /// an earlier page or of the same page. With the mode ``MergeOptions/Mode/replace``, the keys of all pages stay in
  /// memory until the end.
  ///
  /// A service whose order changes between the requests may leave a record out of all pages, and the last save deletes
  /// the record until the next merge. Request the pages in a stable order or by a cursor, and limit the deletion by
  /// ``MergeOptions/maximumDeletedShare``.
  ///
  /// Without ``MergeOptions/saves``, the pages and the deletion are unsaved changes of the context, for one save of the
  /// caller.
  ///
  /// May be called on any thread. The context does the work, and is free between pages.
  ///
  /// - Parameters:
  ///   - pages: The records of each page. `AsyncThrowingStream(unfolding:)` makes a sequence from a closure.
  ///   - ignoreAttributes: The attributes and relationships that existing records keep.
  ///   - subsetFilter: Limits the deletion to the records that satisfy the filter.
  ///   - condition: Protects the records that do not satisfy it from being changed or deleted.
  /// - Returns: The counts of all pages and of the deletion together.
  /// - Throws: Errors of the sequence; for a page as
  ///   ``merge(records:for:ignoreAttributes:subsetFilter:condition:options:)-([MergeRecord],_,_,_,_,_)``;
  ///   ``ErrorCode/excessiveDeletion`` above the deletion limit of the options, or when no page contains a record;
  ///   ``ErrorCode/objectNotFound`` for a link to a record that would be deleted; ``ErrorCode/cancelled`` or
  ///   `CancellationError`.
  @discardableResult
  public func mergePages<Pages: AsyncSequence & Sendable>(
    _ pages: Pages, for entity: EntityDescription, ignoreAttributes: [String] = [],
    subsetFilter: FetchPredicate? = nil, condition: FetchPredicate = .constant(true),
    options: MergeOptions = MergeOptions()
  ) async throws -> MergeResult where Pages.Element == [MergeRecord] {
    let scope = MergeScope(
      entity: entity, ignoredAttributes: Set(ignoreAttributes), subsetFilter: subsetFilter, condition: condition,
      options: options)
    return try await mergePages(pages, scope) { $0 }
  }

  /// Merges pages of decoded values, by the names of their properties; see
  /// ``MergeRecord/init(properties:for:leavingOut:)`` and
  /// ``mergePages(_:for:ignoreAttributes:subsetFilter:condition:options:)``.
  ///
  /// - Parameter leavingOut: The names of properties to skip.
  @discardableResult
  public func mergePages<Pages: AsyncSequence & Sendable, Record: Decodable>(
    _ pages: Pages, for entity: EntityDescription, leavingOut: Set<String> = [], ignoreAttributes: [String] = [],
    subsetFilter: FetchPredicate? = nil, condition: FetchPredicate = .constant(true),
    options: MergeOptions = MergeOptions()
  ) async throws -> MergeResult where Pages.Element == [Record] {
    let scope = MergeScope(
      entity: entity, ignoredAttributes: Set(ignoreAttributes), subsetFilter: subsetFilter, condition: condition,
      options: options)
    return try await mergePages(pages, scope) { records in
      try records.map { try MergeRecord(properties: $0, for: entity, leavingOut: leavingOut) }
    }
  }

  // MARK: Merging and deleting

  private func mergePages<Pages: AsyncSequence & Sendable>(
    _ pages: Pages, _ scope: MergeScope, _ records: (Pages.Element) throws -> [MergeRecord]
  ) async throws -> MergeResult {
    // Invalid arguments throw before the first page is requested.
    _ = try layout(of: scope)
    var result = MergeResult()
    var keys = PagedKeys()
    for try await element in pages {
      let page = try records(element)
      let merged = try await perform { try self.mergePage(page, scope) }
      result += merged.result
      keys.formUnion(merged.keys)
    }
    // In a cancelled task, a sequence may end early as if after its last page.
    try refuseIfCanceled()
    guard scope.options.mode == .replace else { return result }
    let pageKeys = keys
    result += try await perform { try self.deleteRecords(exceptFor: pageKeys, scope) }
    return result
  }

  /// Merges one page. The deletion of the records that no page contains follows after the last page.
  private func mergePage(_ records: [MergeRecord], _ scope: MergeScope) throws -> MergedPage {
    var pageScope = scope
    pageScope.options.isPageOfWhole = scope.options.mode == .replace
    pageScope.options.mode = .upsertOnly
    pageScope.subsetFilter = nil
    var keys = PagedKeys()
    let result = try reconcile(pageScope) { layout, localEdits in
      var merge = try Merge(
        in: self, scope: pageScope, layout: layout, input: RecordInput(records, layout: layout), localEdits: localEdits)
      let unsaved = try merge.run()
      if scope.options.mode == .replace { keys = try merge.pageKeys() }
      return unsaved
    }
    return MergedPage(result: result, keys: keys)
  }

  private func deleteRecords(exceptFor keys: PagedKeys, _ scope: MergeScope) throws -> MergeResult {
    try reconcile(scope) { layout, localEdits in
      try PagedDeletion(in: self, scope: scope, layout: layout, keys: keys, localEdits: localEdits).run()
    }
  }
}
