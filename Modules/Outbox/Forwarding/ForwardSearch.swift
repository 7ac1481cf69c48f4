import CoherenceCore
import Foundation

/// A search for ready entries, in one unit of work: reads entries, claims the requests of free calls, and reads their
/// contents. A value, with the runner's state at the beginning of the search.
struct ForwardSearch: Sendable {
  /// The result of a search.
  struct Selection: Sendable {
    var calls: [ForwardCall] = []
    /// The claimed edits that no handler can send, with their errors.
    var unsendable: [ForwardOutcome] = []
    /// Whether another search may find more ready entries.
    var hasMore = false
    /// The entries that the search leaves to later searches.
    var backlog = ForwardBacklog()
    /// The sendable records beyond the claimed requests, for the next search. Empty unless all edits are admitted.
    var surplus = OutboxSurplus()
    /// Whether sendable edits were left out, because only retried edits are admitted.
    var holdsBack = false
    /// The unreadable records of the log, which hold later edits back.
    var unreadable: Set<ManagedObjectID> = []
    /// The edits among ``ForwardSearch/exhausted`` that still wait.
    var exhausted: Set<ManagedObjectID> = []

    /// Adds the selection of another store. Another search of all readable stores finds the entries that both leave.
    mutating func add(_ other: Selection) {
      calls += other.calls
      unsendable += other.unsendable
      holdsBack = holdsBack || other.holdsBack
      unreadable.formUnion(other.unreadable)
      exhausted.formUnion(other.exhausted)
      hasMore = true
      (backlog, surplus) = (ForwardBacklog(), OutboxSurplus())
    }
  }

  let outbox: Outbox
  let forwarding: ForwardingState
  let options: ForwardOptions
  let claimant: String
  /// The edits that the search may claim.
  let admission: CircuitBreaker.Admission
  /// The stores whose entries the search reads; `nil` for all stores. The others have failed.
  var stores: Set<StoreIdentifier>?
  /// The number of further calls beside the running and the waiting calls.
  var freeCalls: Int
  /// The claimed edits, by their first entries.
  let flights: [ManagedObjectID: ForwardFlight]
  /// The edits that wait for the server after the last attempt of the policy, by their first entries.
  let exhausted: Set<ManagedObjectID>
  /// The entries that earlier searches have left.
  let backlog: ForwardBacklog
  /// The sendable records that an earlier search has left. While requests can be made from them, the search reads no
  /// other entries.
  var surplus: OutboxSurplus

  /// The greatest number of calls to start.
  private var callLimit: Int { admission == .probe ? min(1, freeCalls) : freeCalls }
  /// The greatest number of requests to select. A probe is a single request; with one request more than exhausted
  /// edits, one of the requests is of another edit.
  private var limit: Int {
    callLimit * (admission == .probe ? exhausted.count + 1 : forwarding.largestBatch)
  }

  /// Searches and claims. To be called inside the context.
  func run(in context: ManagedObjectContext) throws -> Selection {
    let now = outbox.options.now()
    if limit > 0 { try outbox.makeEntries(in: stores) }
    // The keys of the requests are read with the entries: a record may show a later key, which the server does not know.
    var (found, plan, contents, readsEntries) = try context.withSnapshot { try find(at: now, in: context) }
    let claimed = try claim(plan.steps, found, at: now, in: context)
    try fill(&plan, with: claimed, contents, in: context)
    // A merge or another forwarder has changed the entries of a lost claim, so that the next search reads them again.
    let hasLostClaims = claimed.count < plan.steps.count
    var selection = Selection(calls: plan.calls, unsendable: plan.unsendable)
    selection.hasMore = hasLostClaims || !readsEntries || !found.isComplete || !found.surplus.isEmpty
    selection.holdsBack = found.holdsBack
    selection.unreadable = found.unreadable
    selection.exhausted = stillWaiting(found)
    // After a probe, the next search begins with the oldest entries again.
    if !hasLostClaims, admission == .all {
      selection.surplus = found.surplus
      selection.surplus.putBack(plan.leftOut, from: found.candidates)
    }
    if !readsEntries {
      selection.backlog = backlog
      selection.backlog.claim(claimed)
    } else if found.isComplete {
      selection.backlog = remainder(of: found, besides: claimed, at: now)
      if mayLeaveReadyEdits(found, plan), selection.backlog.hasWaitingEntries { selection.hasMore = true }
    }
    return selection
  }

  /// Whether ready edits may remain after a search of all entries: the calls are full, the search has found as many
  /// requests as it looked for, or it has taken a probe, which edits that the user retries may follow.
  private func mayLeaveReadyEdits(_ found: OutboxSelection, _ plan: ForwardCallPlan) -> Bool {
    if !plan.leftOut.isEmpty { return true }
    guard !found.steps.isEmpty else { return false }
    // The requests that the search has left to another program counted against the limit.
    return admission == .probe || found.steps.count + found.left.count >= limit
  }

  /// Finds the requests to claim, and reads the keys that they name.
  private func find(
    at now: Date, in context: ManagedObjectContext
  ) throws -> (found: OutboxSelection, plan: ForwardCallPlan, contents: ForwardContents, readsEntries: Bool) {
    var found = try outbox.selection(from: surplus, in: context, at: now, limit: limit)
    let readsEntries = found.steps.isEmpty
    if readsEntries { found = try readEntries(at: now, in: context) }
    if admission == .probe { found.steps = probe(of: found.steps) }
    var plan = ForwardCallPlan(limit: callLimit, forwarding: forwarding, model: outbox.coordinator.managedObjectModel)
    for step in found.steps { plan.add(step.repeatingUnansweredRequest) }
    let contents = try ForwardContents(of: plan.steps, foundBy: found, outbox: outbox, context: context)
    return (found, plan, contents, readsEntries)
  }

  /// Reads the entries from the oldest on, until enough requests are found.
  private func readEntries(at now: Date, in context: ManagedObjectContext) throws -> OutboxSelection {
    try outbox.selection(
      in: context, at: now, limit: limit, maximumDelay: options.longestDelay, maximumLease: options.longestLease,
      onlyRetried: admission == .retries
    ) { node in
      guard node.claimant == claimant else { return .untilLeaseEnds }
      // A claim without an edit: the store has applied it although its save reported a failure.
      return flights[node.id] == nil ? .abandoned : .held
    }
  }

  /// The request of the probe: the first request of an edit with attempts left. Otherwise an edit that the server can
  /// never take would be each probe, and hold all other edits back. If no edit has attempts left, the probe is of the
  /// edit that has waited longest, so that the edits take turns.
  private func probe(of steps: [OutboxStep]) -> [OutboxStep] {
    let longestWaiting = steps.min {
      ($0.head.nextAttemptDate ?? .distantPast) < ($1.head.nextAttemptDate ?? .distantPast)
    }
    let step = steps.first { !exhausted.contains($0.head.id) } ?? longestWaiting
    return step.map { [$0] } ?? []
  }

  /// Claims requests for the lease of the forwarder, and returns the claimed ones.
  private func claim(
    _ steps: [OutboxStep], _ found: OutboxSelection, at now: Date, in context: ManagedObjectContext
  ) throws -> [OutboxStep] {
    let lease = now.addingTimeInterval(options.leaseDuration / .seconds(1))
    return try ForwardClaim(outbox: outbox, claimant: claimant).take(steps, found.objects, until: lease, in: context)
  }

  /// Gives the calls of a plan the contents of the claimed requests.
  private func fill(
    _ plan: inout ForwardCallPlan, with claimed: [OutboxStep], _ contents: ForwardContents,
    in context: ManagedObjectContext
  ) throws {
    for step in try claimed.map({ try outbox.loaded($0, in: context) }) {
      plan.fill(ForwardFlight(step: step, content: contents.content(of: step)))
    }
  }

  /// The exhausted edits that still wait for an attempt, as far as the search has read the entries.
  private func stillWaiting(_ found: OutboxSelection) -> Set<ManagedObjectID> {
    guard found.isComplete, !exhausted.isEmpty else { return exhausted }
    let unread = exhausted.filter { id in id.storeIdentifier.map { stores?.contains($0) == false } ?? false }
    return exhausted.intersection(found.nodes.lazy.filter { $0.facts.state == .pending }.map(\.id)).union(unread)
  }

  /// The entries that a complete search leaves.
  private func remainder(of found: OutboxSelection, besides claimed: [OutboxStep], at now: Date) -> ForwardBacklog {
    var backlog = ForwardBacklog(of: found.nodes, besides: claimed + flights.values.map(\.step), at: now, options)
    // A read-only store may have logged changes without entries, an unreadable save has none, and the entries of a
    // failed store are not read.
    if outbox.hasReadOnlyStores || !found.unreadable.isEmpty || stores != nil { backlog.counts = nil }
    return backlog
  }
}
