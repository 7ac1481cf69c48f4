import CoherenceCore
import Foundation
import Testing

@testable import CoherenceOutbox

/// The counts and dates of the entries that a search leaves.
@Suite("The backlog of a forwarder")
struct ForwardBacklogTests {
  private let now = Date(timeIntervalSince1970: 1_000_000)
  private let options = ForwardOptions(longestDelay: .seconds(3600), leaseDuration: .seconds(60))

  private func backlog(_ nodes: [OutboxNode], besides steps: [OutboxStep] = []) -> ForwardBacklog {
    ForwardBacklog(of: nodes, besides: steps, at: now, options)
  }

  private func pending(_ sequence: Int64, for seconds: Double = -1000) -> OutboxNode {
    SampleEntries.node(.update, sequence, of: sequence, nextAttempt: now + seconds)
  }

  private func sending(_ sequence: Int64, for seconds: Double?) -> OutboxNode {
    SampleEntries.node(
      .update, sequence, of: sequence, state: .sending, groupEnd: sequence, lease: seconds.map { now + $0 })
  }

  private func step(_ sequences: Int64...) -> OutboxStep {
    OutboxStep(sequences.map { SampleEntries.entry(.update, $0) }, outcome: .update)
  }

  @Test func `a backlog has the numbers of entries in each state, the next delayed entry and the next end of a lease`()
  {
    let parked = SampleEntries.node(.update, 7, of: 7, state: .parked)
    let backlog = backlog([
      pending(1), pending(2, for: 30), pending(3, for: 20), sending(4, for: 60), sending(5, for: 50),
      sending(6, for: -1), parked,
    ])
    #expect(backlog.counts == OutboxCounts(pending: 3, sending: 3, parked: 1))
    #expect(backlog.nextAttempt == now + 20 && backlog.nextLeaseEnd == now + 50 && backlog.nextDue == now + 20)
    #expect(backlog.hasWaitingEntries)
  }

  @Test func `a due entry and a lease that ends now have no date in the future`() {
    let backlog = backlog([pending(1, for: 0), sending(2, for: 0), sending(3, for: nil)])
    #expect(backlog.nextAttempt == nil && backlog.nextLeaseEnd == nil && backlog.nextDue == nil)
    #expect(backlog.counts == OutboxCounts(pending: 1, sending: 2))
  }

  @Test func `after a clock is set back, dates are limited to the longest delay and the longest lease`() {
    let backlog = backlog([pending(1, for: 90_000), sending(2, for: 80_000)])
    #expect(backlog.nextAttempt == now + 3600 && backlog.nextLeaseEnd == now + 3600)
  }

  @Test func `the entries of own requests do not wait, and only their heads are being sent`() {
    let own = [step(1, 2)]
    let backlog = backlog([sending(1, for: 60), pending(2)], besides: own)
    #expect(backlog.counts == OutboxCounts(pending: 1, sending: 1))
    #expect(!backlog.hasWaitingEntries && backlog.nextLeaseEnd == nil)
    #expect(self.backlog([pending(1), pending(2), pending(3)], besides: own).hasWaitingEntries)
    #expect(self.backlog([pending(1)], besides: own).counts == OutboxCounts(sending: 1))
    #expect(!self.backlog([]).hasWaitingEntries)
  }

  @Test func `a claim moves the heads of requests, and an acknowledgement removes all entries of its request`() {
    var backlog = backlog([pending(1), pending(2), pending(3), pending(4)])
    backlog.claim([step(1, 2, 3), step(4)])
    #expect(backlog.counts == OutboxCounts(pending: 2, sending: 2))
    backlog.remove(step(1, 2, 3))
    #expect(backlog.counts == OutboxCounts(sending: 1))
    backlog.remove(step(4))
    #expect(backlog.counts == OutboxCounts())
    backlog.counts = nil
    backlog.claim([step(1)])
    backlog.remove(step(1))
    #expect(backlog.counts == nil)
  }

  @Test func `the delay of an outage prolongs the wait for the next entry, and does not shorten it`() {
    for (former, holdsBack, expected) in [
      (nil, false, nil), (nil, true, 20), (10, false, 20), (20, false, 20), (30, false, 30), (30, true, 20),
    ] as [(Double?, Bool, Double?)] {
      var backlog = ForwardBacklog()
      backlog.nextAttempt = former.map { now + $0 }
      backlog.postpone(until: now + 20, holdsBack: holdsBack)
      #expect(backlog.nextAttempt == expected.map { now + $0 }, "\(former ?? -1), \(holdsBack)")
    }
  }
}
