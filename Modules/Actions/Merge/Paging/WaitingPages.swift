package import CoherenceCore

/// The pages of a merge that wait for later pages, because the merge of a page has failed for a reason that a later page
/// may end: the page takes a unique value that a record of a later page gives up, or links to a record of a later page.
/// They are merged together with the later pages.
package struct WaitingPages<Page> {
  /// The greatest number of pages in one merge.
  private static var limit: Int { 64 }

  /// The pages, in their order.
  package private(set) var pages: [Page] = []

  package init() {}

  /// Whether no further page can wait.
  package var isFull: Bool { pages.count >= Self.limit }

  /// Whether a merge of the pages is due. The attempts become rarer, so that they merge each page a few times at most.
  package var isDue: Bool { isFull || pages.count.nonzeroBitCount == 1 }

  package mutating func append(_ page: Page) { pages.append(page) }

  /// Ends the wait of the merged pages.
  package mutating func removeAll() { pages = [] }
}

extension CoherenceError {
  /// Whether a merge that fails with the error may succeed together with later pages.
  package var mayEndWithLaterPages: Bool { code == .uniquenessViolated || code == .objectNotFound }
}
