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
  /// pages can be merged again. A record on two pages gets the values of the later page, and a link gives way to a link
  /// of a later page that contradicts it: the service has changed the record between the requests. Links of one page
  /// must not contradict each other. With the mode ``MergeOptions/Mode/replace``, the keys of all pages stay in memory
  /// until the end, and so do the identifiers of linked records that the deletion may reach.
  ///
  /// A page waits for later pages, and is merged and saved together with them, when it links to a missing record, or
  /// takes a unique value of a stored record: a later page may contain the missing record, or the new value of the
  /// stored record. At most 64 pages wait. In the mode ``MergeOptions/Mode/replace``, the deletion may end the use of a
  /// unique value too, and pages that still wait for the value are merged after the deletion. No page waits in a
  /// context with other changes, or without ``MergeOptions/saves``.
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
    // The changes of a failed page stay in a context with other changes, so that the page cannot be merged again.
    let mayWait = try await perform { !self.hasChanges } && scope.options.saves
    var merged = MergedPage(result: MergeResult(), keys: PagedKeys())
    var waiting = WaitingPages<[MergeRecord]>()
    for try await element in pages {
      waiting.append(try records(element))
      guard waiting.isDue else { continue }
      let isFinal = !mayWait || waiting.isFull
      do {
        try await merge(waiting.pages, scope, isFinal: isFinal, into: &merged)
        waiting.removeAll()
      } catch let error as CoherenceError where !isFinal && error.mayEndWithLaterPages {
        continue
      }
    }
    // In a cancelled task, a sequence may end early as if after its last page.
    try refuseIfCanceled()
    return try await finish(&merged, waiting.pages, scope)
  }

  /// Merges the pages that wait after the last page, and deletes the records that no page contains.
  private func finish(
    _ merged: inout MergedPage, _ waiting: [[MergeRecord]], _ scope: MergeScope
  ) async throws -> MergeResult {
    let deletes = scope.options.mode == .replace
    var waiting = waiting
    do {
      try await merge(waiting, scope, isFinal: true, into: &merged)
      waiting = []
    } catch let error as CoherenceError where deletes && error.code == .uniquenessViolated {
      // A record to delete may have the unique value.
    }
    guard deletes else { return merged.result }
    let (keys, remaining) = (merged.keys, waiting)
    merged.result += try await perform {
      var keys = keys
      let layout = try self.layout(of: scope)
      for page in remaining { keys.all.formUnion(try page.keys(layout).filter { !$0.isIncomplete }) }
      if !remaining.isEmpty, scope.options.missingTargets == .fail {
        // The merge of these pages would fail after the deletion was saved.
        let page = try remaining.combined(layout, scope.options.duplicates)
        keys.formUnion(try self.links(of: page, layout, scope))
      }
      return try self.deleteRecords(exceptFor: keys, scope)
    }
    try await merge(remaining, scope, isFinal: true, into: &merged)
    return merged.result
  }

  /// Merges pages together, and adds their result and keys.
  ///
  /// - Parameter isFinal: Whether links to missing records are left out if the options say so. Otherwise the merge
  ///   throws for them, because a later page may have the records.
  private func merge(
    _ pages: [[MergeRecord]], _ scope: MergeScope, isFinal: Bool, into merged: inout MergedPage
  ) async throws {
    guard !pages.isEmpty else { return }
    var pageScope = scope
    if !isFinal { pageScope.options.missingTargets = .fail }
    let page = try await perform { [pageScope] in
      let layout = try self.layout(of: pageScope)
      return try self.mergePage(try pages.combined(layout, pageScope.options.duplicates), pageScope)
    }
    merged.result += page.result
    merged.keys.formUnion(page.keys)
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

  /// Returns the link destinations of a page that is merged after the deletion.
  private func links(of page: [MergeRecord], _ layout: MergeLayout, _ scope: MergeScope) throws -> PagedKeys {
    var merge = try Merge(
      in: self, scope: scope, layout: layout, input: RecordInput(page, layout: layout), localEdits: nil)
    return try merge.linksBeforeDeletion()
  }

  private func deleteRecords(exceptFor keys: PagedKeys, _ scope: MergeScope) throws -> MergeResult {
    try reconcile(scope) { layout, localEdits in
      try PagedDeletion(in: self, scope: scope, layout: layout, keys: keys, localEdits: localEdits).run()
    }
  }
}
