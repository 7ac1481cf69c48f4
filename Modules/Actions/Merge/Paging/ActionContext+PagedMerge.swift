public import CoherenceCore

extension ActionContext {
  /// Merges pages of records, one after the other: each page is a save of its own and deletes nothing. With the mode
  /// ``MergeOptions/Mode/replace``, the records that no page named are deleted at the end, in one save, and only when
  /// the last page has come whole. Without options nothing is deleted.
  ///
  /// ```swift
  /// let pages = http.pages(of: AlbumPage.self, from: request, by: .linkHeader()).map { $0.content.albums }
  /// try await context.mergePages(
  ///   pages, for: album, options: MergeOptions(mode: .replace, maximumDeletedShare: 0.5))
  /// ```
  ///
  /// When a page fails, or the task or the action is cancelled, nothing is deleted; the pages before stay merged, and
  /// merging all pages again does no harm. A record that is on two pages takes the values of the later one. A link may
  /// lead to a record of an earlier page or of the same one. The keys of all pages are kept in memory until the end.
  ///
  /// With ``MergeOptions/saves`` off, the pages and the deletion are changes of the context, for the caller to save at
  /// once.
  ///
  /// May be called from anywhere: the work is done in the context, and the context is free while a page is waited for.
  ///
  /// - Parameters:
  ///   - pages: The records of each page. A closure makes a sequence with `AsyncThrowingStream(unfolding:)`.
  ///   - ignoreAttributes: Names of attributes and relationships that are kept in records that exist.
  ///   - subsetFilter: Limits the deletion to the records that satisfy it.
  ///   - condition: Records that do not satisfy it are neither changed nor deleted.
  /// - Returns: The counts of all pages and of the deletion together.
  /// - Throws: Errors of the sequence; for a page as
  ///   ``merge(records:for:ignoreAttributes:subsetFilter:condition:options:)-([MergeRecord],_,_,_,_,_)``;
  ///   ``ErrorCode/excessiveDeletion`` when more would be deleted than the options allow, or when no page named a record;
  ///   ``ErrorCode/objectNotFound`` when a record would be deleted that a page links to;
  ///   ``ErrorCode/cancelled`` or `CancellationError`.
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

  /// Merges pages of decoded records, by the names of their properties; see
  /// ``MergeRecord/init(properties:for:leavingOut:)`` and
  /// ``mergePages(_:for:ignoreAttributes:subsetFilter:condition:options:)``.
  ///
  /// - Parameter leavingOut: The properties of the records that the entity does not have.
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

  // MARK: The work

  private func mergePages<Pages: AsyncSequence & Sendable>(
    _ pages: Pages, _ scope: MergeScope, _ records: (Pages.Element) throws -> [MergeRecord]
  ) async throws -> MergeResult {
    // Arguments are refused before the first page is asked for.
    _ = try layout(of: scope)
    var result = MergeResult()
    var keys = PagedKeys()
    for try await element in pages {
      let page = try records(element)
      let merged = try await perform { try self.mergePage(page, scope) }
      result += merged.result
      keys.formUnion(merged.keys)
    }
    // A sequence whose task is cancelled may end as if its last page had come.
    try refuseIfCanceled()
    guard scope.options.mode == .replace else { return result }
    let pageKeys = keys
    result += try await perform { try self.deleteRecords(exceptFor: pageKeys, scope) }
    return result
  }

  private func mergePage(_ records: [MergeRecord], _ scope: MergeScope) throws -> MergedPage {
    var page = scope
    page.options.mode = .upsertOnly
    page.subsetFilter = nil
    var keys = PagedKeys()
    let result = try reconcile(page) { layout, localEdits in
      var merge = try Merge(
        in: self, scope: page, layout: layout, input: RecordInput(records, layout: layout), localEdits: localEdits)
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
