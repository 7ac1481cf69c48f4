import CoherenceCore
import Foundation
import Testing

@testable import CoherenceOutbox

/// The edits that a forwarder holds back while the server is unavailable.
@Suite("The circuit breaker of a forwarder")
struct CircuitBreakerTests {
  /// An error of a server that takes no requests at present, and may ask for a delay.
  private struct Unavailable: AvailabilityReporting, RetryAdvising {
    var seconds: Int?
    var isServiceUnavailable: Bool { true }
    func retryDelay(at now: Date) -> Duration? { seconds.map { .seconds($0) } }
  }

  private let now = Date(timeIntervalSince1970: 1_000_000)
  private let longestDelay = Duration.seconds(3600)
  /// Delays of 10, 20 and 40 seconds, and three attempts.
  private let options = ForwardOptions(
    retry: RetryPolicy(attempts: 3, initialDelay: .seconds(10), factor: 2, maximumDelay: .seconds(300), jitter: 0))

  private let a = SampleEntries.entry(.update, 1).id
  private let b = SampleEntries.entry(.update, 2).id
  private let c = SampleEntries.entry(.update, 3).id

  private func outage(
    advice: Int? = nil, attempt: Int = 1, failureCount: Int = 1, at date: Date? = nil
  ) throws -> ForwardOutage {
    try #require(
      ForwardOutage(
        Unavailable(seconds: advice), attempt: attempt, failureCount: failureCount, at: date ?? now, options))
  }

  /// Notes an outage, and returns whether edits are held back.
  private func note(
    _ outage: ForwardOutage, of head: ManagedObjectID, besides sent: Set<ManagedObjectID> = [], at date: Date? = nil,
    in breaker: inout CircuitBreaker
  ) -> Bool {
    breaker.noteOutage(outage, of: head, besides: sent, at: date ?? now, longestDelay: longestDelay)
  }

  private func delayEnd(of breaker: CircuitBreaker, at seconds: Double = 0) -> Date? {
    breaker.delayEnd(at: now + seconds, longestDelay: longestDelay)
  }

  /// A breaker that an edit has opened.
  private func opened(besides sent: Set<ManagedObjectID> = []) throws -> CircuitBreaker {
    var breaker = CircuitBreaker()
    let isOpen = note(try outage(), of: a, besides: sent, in: &breaker)
    #expect(isOpen)
    return breaker
  }

  // MARK: Opening

  @Test func `an outage holds all edits back for its delay, and then admits a single probe`() throws {
    var breaker = CircuitBreaker()
    #expect(breaker.isClosed && breaker.admission(isDelayed: true, isClaimed: { _ in true }) == .all)
    #expect(delayEnd(of: breaker) == nil)
    breaker = try opened()
    #expect(!breaker.isClosed && breaker.failureCount == 1)
    #expect(delayEnd(of: breaker) == now + 10 && delayEnd(of: breaker, at: 9.999) == now + 10)
    #expect(delayEnd(of: breaker, at: 10) == nil)
    #expect(breaker.admission(isDelayed: true, isClaimed: { _ in false }) == .retries)
    #expect(breaker.admission(isDelayed: false, isClaimed: { _ in true }) == .probe)
    breaker.begin(probe: b)
    #expect(breaker.admission(isDelayed: false, isClaimed: { $0 == b }) == .retries)
    #expect(breaker.admission(isDelayed: false, isClaimed: { _ in false }) == .probe, "Its claim was released.")
  }

  @Test func `a delay that no clock can have set is ignored`() throws {
    let breaker = try opened()
    #expect(delayEnd(of: breaker, at: -3590) == now + 10)
    #expect(delayEnd(of: breaker, at: -3590.001) == nil)
  }

  @Test func `a failure of the probe counts, and a failure of another edit does not`() throws {
    var breaker = try opened()
    breaker.begin(probe: b)
    #expect(breaker.failureCountAfterFailure(of: b) == 2 && breaker.failureCountAfterFailure(of: c) == 1)
    let isOpen = note(try outage(), of: c, in: &breaker)
    #expect(isOpen && breaker.failureCount == 1)
    _ = note(try outage(failureCount: 2, at: now + 10), of: b, at: now + 10, in: &breaker)
    #expect(breaker.failureCount == 2 && delayEnd(of: breaker, at: 10) == now + 30)
    // The failed edit is the probe no more.
    #expect(breaker.failureCountAfterFailure(of: b) == 2)
    #expect(breaker.admission(isDelayed: false, isClaimed: { _ in true }) == .probe)
  }

  @Test func `a later outage prolongs a delay and does not shorten it`() throws {
    var breaker = CircuitBreaker()
    _ = note(try outage(advice: 100), of: a, in: &breaker)
    _ = note(try outage(at: now + 1), of: b, at: now + 1, in: &breaker)
    #expect(delayEnd(of: breaker, at: 1) == now + 100)
    _ = note(try outage(at: now + 101), of: b, at: now + 101, in: &breaker)
    #expect(delayEnd(of: breaker, at: 101) == now + 111)
  }

  // MARK: Closing

  @Test func `a reply closes the breaker, and the waiting edits become overdue`() throws {
    var breaker = try opened()
    breaker.begin(probe: b)
    let isChanged = breaker.noteReply(to: b, besides: [])
    #expect(isChanged && breaker.isClosed && delayEnd(of: breaker) == nil)
    #expect(breaker.overdue == [a: now + 10])
    let isChangedAgain = breaker.noteReply(to: b, besides: [])
    #expect(!isChangedAgain)
    breaker.keepOverdue([:])
    #expect(breaker.overdue.isEmpty)
  }

  @Test func `an edit that failed before the reply to another edit does not open the breaker, until its own reply`()
    throws
  {
    var breaker = try opened()
    _ = breaker.noteReply(to: b, besides: [])
    let isOpen = note(try outage(), of: a, in: &breaker)
    #expect(!isOpen && breaker.isClosed && breaker.exhausted.isEmpty)
    let isOpenAfterLast = note(try outage(attempt: 3), of: a, in: &breaker)
    #expect(!isOpenAfterLast && breaker.exhausted == [a])
    let isChanged = breaker.noteReply(to: a, besides: [])
    #expect(!isChanged && breaker.exhausted.isEmpty)
    let isOpenAfterReply = note(try outage(), of: a, in: &breaker)
    #expect(isOpenAfterReply)
  }

  @Test func `the edit whose reply closes the breaker can open it again`() throws {
    var breaker = try opened()
    let isChanged = breaker.noteReply(to: a, besides: [])
    #expect(isChanged)
    let isOpen = note(try outage(), of: a, in: &breaker)
    #expect(isOpen)
  }

  @Test func `a request sent before the breaker opened does not close it, and a later one does`() throws {
    var breaker = try opened(besides: [b])
    let isChanged = breaker.noteReply(to: b, besides: [])
    #expect(!isChanged && !breaker.isClosed)
    let isChangedLater = breaker.noteReply(to: b, besides: [])
    #expect(isChangedLater && breaker.isClosed)
  }

  @Test func `a request sent before the breaker closed does not open it, and a later one does`() throws {
    var breaker = try opened()
    _ = breaker.noteReply(to: b, besides: [c])
    let isOpen = note(try outage(), of: c, in: &breaker)
    #expect(!isOpen && breaker.isClosed)
    let isOpenLater = note(try outage(), of: c, in: &breaker)
    #expect(isOpenLater)
  }

  @Test func `the end of an attempt without a result releases the probe and the memory of the request`() throws {
    var breaker = try opened(besides: [b])
    breaker.begin(probe: c)
    breaker.noteEnd(of: c)
    #expect(breaker.admission(isDelayed: false, isClaimed: { _ in true }) == .probe)
    breaker.begin(probe: c)
    breaker.noteEnd(of: b)
    #expect(breaker.admission(isDelayed: false, isClaimed: { _ in true }) == .retries)
    let isChanged = breaker.noteReply(to: b, besides: [])
    #expect(isChanged)
  }

  @Test func `an edit is exhausted after its last attempt, until another attempt, a reply or its end`() throws {
    var breaker = CircuitBreaker()
    _ = note(try outage(attempt: 3), of: a, in: &breaker)
    _ = note(try outage(attempt: 3), of: b, in: &breaker)
    #expect(breaker.exhausted == [a, b])
    _ = note(try outage(attempt: 1), of: b, in: &breaker)
    #expect(breaker.exhausted == [a])
    breaker.retain(exhausted: [])
    #expect(breaker.exhausted.isEmpty)
    _ = note(try outage(attempt: 3), of: a, in: &breaker)
    _ = breaker.noteReply(to: c, besides: [])
    #expect(breaker.exhausted.isEmpty)
  }

  @Test func `a regained network ends the delay, except for a delay that the server has asked for`() throws {
    var breaker = try opened()
    breaker.endDelay(at: now, longestDelay: longestDelay)
    #expect(delayEnd(of: breaker) == nil && !breaker.isClosed)
    #expect(breaker.overdue == [a: now + 10])
    var advised = CircuitBreaker()
    _ = note(try outage(advice: 5), of: a, in: &advised)
    advised.endDelay(at: now, longestDelay: longestDelay)
    #expect(delayEnd(of: advised) == now + 5 && advised.overdue.isEmpty)
    advised.endDelay(at: now + 5, longestDelay: longestDelay)
    #expect(delayEnd(of: advised, at: 5) == nil && advised.overdue == [a: now + 10])
  }

  // MARK: Outages

  @Test func `the delay of an outage grows with the attempts of the edit and with the failures of the server`() throws {
    for (attempt, failureCount, seconds) in [(1, 1, 10), (1, 2, 20), (2, 1, 20), (1, 9, 40), (5, 1, 160)] {
      let noted = try outage(attempt: attempt, failureCount: failureCount)
      #expect(noted.delay.duration == .seconds(seconds) && noted.delay.end == now + Double(seconds))
      #expect(noted.isAfterLastAttempt == (attempt >= 3))
      #expect(noted.advisedEnd == OutboxEntryRecord.atOnce)
    }
    let advised = try outage(advice: 90)
    #expect(advised.delay.duration == .seconds(90) && advised.advisedEnd == now + 90)
    let long = try outage(advice: 90_000)
    #expect(long.delay.duration == longestDelay && long.advisedEnd == now + 3600)
  }

  @Test func `an error that is final, or that says nothing about the server, is no outage`() {
    struct Broken: Error {}
    let final = CoherenceError(.inputOutput, "It is broken.", underlying: Unavailable(), isRetryable: false)
    for error in [Broken(), final] as [any Error] {
      #expect(ForwardOutage(error, attempt: 1, failureCount: 1, at: now, options) == nil)
    }
  }

  @Test func `a policy without delays tries at once, whatever the clock shows later`() throws {
    let hasty = ForwardOptions(retry: RetryPolicy(initialDelay: .zero))
    let noted = try #require(ForwardOutage(Unavailable(), attempt: 1, failureCount: 1, at: now, hasty))
    #expect(noted.delay.duration == .zero && noted.delay.end == OutboxEntryRecord.atOnce)
  }
}
