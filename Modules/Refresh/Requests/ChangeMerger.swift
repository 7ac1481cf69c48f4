import CoherenceActions
import CoherenceCore
import Synchronization

/// Merges the pages of changes of one registration.
///
/// A page that takes a unique value of a stored record, or links to a missing record, waits for the later pages of the
/// attempt, and is saved together with them. If the last page does not end the reason, the attempt fails. A page whose
/// links have made several attempts fail is merged without these links: a server may never send the records, and the
/// refresh would never get beyond the page.
final class ChangeMerger: Sendable {
  /// The number of attempts that links to missing records make fail, before the links are left out. Before that, other
  /// refreshes may bring the records.
  private static let refusalLimit = 3

  /// The numbers of attempts in one store that links to missing records have made fail, by the cursor of the first page of
  /// the failed merge. An attempt may merge earlier pages before it: while a postponed record holds the cursor back, each
  /// attempt begins with the same pages.
  private struct Refusals {
    /// The store of the latest attempt.
    var store: StoreIdentifier?
    var counts: [String?: Int] = [:]

    /// Forgets the failures in another store: the pages of the next user may have the same cursors.
    mutating func beginAttempt(in store: StoreIdentifier?) {
      if store != self.store { self = Refusals(store: store) }
    }
  }

  private let subsetFilter: FetchPredicate?
  private let condition: FetchPredicate
  private let options: MergeOptions
  private let reportError: @Sendable (any Error) -> Void
  private let refusals = Mutex(Refusals())

  /// - Parameter reportError: Receives an error that names the links that a merge has left out.
  init(
    subsetFilter: FetchPredicate?, condition: FetchPredicate, options: MergeOptions,
    reportError: @escaping @Sendable (any Error) -> Void
  ) {
    self.subsetFilter = subsetFilter
    self.condition = condition
    self.options = options
    self.reportError = reportError
  }

  /// Loads and merges pages until the last one.
  func merge(
    _ source: @Sendable (RefreshRequest) async throws -> DeltaPage, for request: RefreshRequest
  ) async throws {
    var request = request
    let store = request.store.storeIdentifier
    refusals.withLock { $0.beginAttempt(in: store) }
    // A service whose pages lead back to an earlier page would keep the attempt busy until its time limit.
    var cursors = Set([request.cursor])
    var waiting = WaitingPages<DeltaPage>()
    var beginning = (cursor: request.cursor, time: ContinuousClock.now)
    while true {
      // Each change is on one page only. A merge that took a page for older than an edit confirmed before the request
      // would lose another client's later change. The pages of one merge are as old as the first page.
      if waiting.pages.isEmpty { beginning = (request.cursor, ContinuousClock.now) }
      let page = try await source(request)
      waiting.append(page)
      let isLast = !page.hasMore || page.isComplete
      if isLast || waiting.isDue { try await merge(&waiting, since: beginning, isLast: isLast, request) }
      guard !isLast else { return forgetRefusals(besides: cursors) }
      guard let cursor = page.cursor, cursors.insert(cursor).inserted else {
        throw CoherenceError(
          .invalidRefresh,
          "A page of changes of '\(request.entity.name)' has a next page, but no cursor or the cursor of an "
            + "earlier page; give each page the position after its records.")
      }
      request.cursor = cursor
    }
  }

  /// Merges the waiting pages together. They go on waiting after a failure that a later page may end.
  ///
  /// - Parameter beginning: The cursor and the time of the request for the first of the pages.
  private func merge(
    _ waiting: inout WaitingPages<DeltaPage>, since beginning: (cursor: String?, time: ContinuousClock.Instant),
    isLast: Bool, _ request: RefreshRequest
  ) async throws {
    let isFinal = isLast || waiting.isFull
    var options = options
    options.requestedAt = beginning.time
    if !isFinal {
      options.missingTargets = .fail
    } else if refusals.withLock({ $0.counts[beginning.cursor, default: 0] >= Self.refusalLimit }) {
      options.missingTargets = .leaveOut
    }
    do {
      let result = try await request.store.merge(
        waiting.pages, for: request.entity, in: request.context, (subsetFilter, condition), options,
        isMergedAgain: !isFinal)
      waiting.removeAll()
      if result.missingLinks > 0 {
        // A later merge of the pages leaves the links out at once.
        reportError(missingLinksError(result.missingLinks, request.entity))
      } else {
        refusals.withLock { $0.counts[beginning.cursor] = nil }
      }
    } catch let error as CoherenceError where error.mayEndWithLaterPages {
      guard isFinal else { return }
      if error.code == .objectNotFound { noteRefusal(of: beginning.cursor) }
      throw error
    }
  }

  private func noteRefusal(of cursor: String?) {
    refusals.withLock { $0.counts[cursor, default: 0] += 1 }
  }

  /// Forgets the failures at cursors that a successful attempt has not requested.
  private func forgetRefusals(besides cursors: Set<String?>) {
    refusals.withLock { $0.counts = $0.counts.filter { cursors.contains($0.key) } }
  }

  private func missingLinksError(_ count: Int, _ entity: EntityDescription) -> CoherenceError {
    CoherenceError(
      .objectNotFound,
      "\(count) link(s) of a page of changes of '\(entity.name)' lead to records that are not stored, and were left out; "
        + "refresh the entities of these records first, or correct the server's records.")
  }
}
