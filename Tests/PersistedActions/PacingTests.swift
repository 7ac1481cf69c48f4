import Foundation
import Testing

@testable import CoherencePersistedActions

/// The decisions of a worker about claims in advance, stopped workers and reads of the store.
@Suite("The pacing of workers")
struct PacingTests {
  @Test func `a worker claims nothing in advance before it has measured an attempt for each of its slots`() {
    var pacing = ClaimPacing(concurrency: 2, maximum: 64)
    #expect(pacing.capacity == 2)
    pacing.note(.microseconds(1))
    #expect(pacing.ahead == 0)
    pacing.note(.microseconds(1))
    #expect(pacing.ahead == 64 && pacing.capacity == 66)
  }

  @Test func `the attempts in advance fit into a twentieth of a second, by the mean of the measured durations`() {
    var pacing = ClaimPacing(concurrency: 1, maximum: 64)
    pacing.note(.milliseconds(20))
    #expect(pacing.ahead == 2)
    // The mean moves by a tenth of the difference: 30 milliseconds.
    pacing.note(.milliseconds(120))
    #expect(pacing.ahead == 1)
    pacing.note(.seconds(1))
    #expect(pacing.ahead == 0)
    var wide = ClaimPacing(concurrency: 3, maximum: 64)
    for _ in 1...3 { wide.note(.milliseconds(20)) }
    #expect(wide.ahead == 7)
  }

  @Test func `the duration of an attempt during which the clock was set back counts as none`() {
    var pacing = ClaimPacing(concurrency: 1, maximum: 5)
    pacing.note(.seconds(-1))
    #expect(pacing.ahead == 5)
    pacing.note(.milliseconds(400))
    #expect(pacing.ahead == 1)
  }

  private let lease = Duration.seconds(30)

  @Test func `a subject without a change for the length of a lease is silent`() {
    var observation = HeartbeatObservation<String>()
    #expect(observation.isEmpty)
    #expect(observation.note(["a", "b"], at: .seconds(100), leaseLength: lease) == [])
    #expect(!observation.isEmpty)
    #expect(observation.note(["a", "c"], at: .seconds(129), leaseLength: lease) == [])
    #expect(observation.note(["a", "b", "c"], at: .seconds(130), leaseLength: lease) == ["a"])
    // The missing read of `b` has begun its time again, and `a` stays silent until it is removed.
    #expect(observation.note(["a", "b", "c"], at: .seconds(159), leaseLength: lease) == ["a", "c"])
    observation.remove(["a", "c"])
    #expect(observation.note(["a", "b", "c"], at: .seconds(160), leaseLength: lease) == ["b"])
    #expect(observation.note([], at: .seconds(161), leaseLength: lease) == [])
    #expect(observation.isEmpty)
  }

  @Test func `a time without a read of more than a lease counts as half a lease`() {
    var observation = HeartbeatObservation<String>()
    #expect(observation.note(["a"], at: .seconds(100), leaseLength: lease) == [])
    #expect(observation.note(["a"], at: .seconds(131), leaseLength: lease) == [])
    #expect(observation.note(["a"], at: .seconds(145), leaseLength: lease) == [])
    #expect(observation.note(["a"], at: .seconds(146), leaseLength: lease) == ["a"])
  }

  @Test func `the claims of others are read again while there are some, and after others may have claimed`() {
    let claim = ObservedClaim(lease: UUID(), store: nil, worker: UUID(), beats: 1)
    var observation = ClaimObservation()
    #expect(!observation.needsRead && observation.lastRead == nil)
    observation.expectClaims()
    #expect(observation.needsRead)
    #expect(observation.note([], at: .seconds(5), leaseLength: lease) == [])
    #expect(!observation.needsRead && observation.lastRead == .seconds(5))
    #expect(observation.note([claim], at: .seconds(6), leaseLength: lease) == [])
    #expect(observation.needsRead)
    #expect(observation.note([claim], at: .seconds(36), leaseLength: lease) == [claim])
    observation.remove([claim])
    #expect(!observation.needsRead && observation.lastRead == .seconds(36))
  }

  @Test func `a wake has the reasons of all signals since the last wake, and a new worker has every reason`() {
    let signal = WakeSignal()
    func reasons() -> [Bool] {
      let reasons = signal.takeReasons()
      return [reasons.mustReadStore, reasons.othersMayClaim]
    }
    #expect(reasons() == [true, true])
    #expect(reasons() == [false, false])
    signal.send(readingStore: false, othersMayClaim: false)
    #expect(reasons() == [false, false])
    signal.send(readingStore: true, othersMayClaim: false)
    signal.send(readingStore: false, othersMayClaim: false)
    #expect(reasons() == [true, false])
    signal.send(readingStore: false, othersMayClaim: true)
    #expect(reasons() == [false, true])
    signal.send()
    #expect(reasons() == [true, true])
  }
}
