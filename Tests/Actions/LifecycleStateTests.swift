import CoherenceCore
import Testing

@testable import CoherenceActions

@Suite("The state of an action")
struct LifecycleStateTests {
  /// The state of an executing action, with one completion.
  private func executing() -> LifecycleState<Int> {
    var lifecycle = LifecycleState<Int>(completions: [1])
    let claim = lifecycle.claim(toRun: true)
    #expect(claim == .first && lifecycle.state == .executing)
    return lifecycle
  }

  private let failure = CoherenceError(.storeBusy, "Busy.")

  @Test func `the end of an action is requested once, by the first of a cancel and a timeout`() {
    var canceled = executing()
    let requests = [canceled.cancel(), canceled.cancel(), canceled.expire(), canceled.replace()]
    #expect(requests == [true, false, false, false])
    #expect(canceled.status == .canceled && !canceled.isExpired && canceled.isCanceledOrExpired)
    #expect(!canceled.statistics.isReplaced)

    var expired = executing()
    let later = [expired.expire(), expired.expire(), expired.cancel()]
    #expect(later == [true, false, false])
    #expect(expired.status == .canceled && expired.isExpired)
  }

  @Test func `an action that expired fails with timedOut, unless it was cancelled afterwards`() {
    var expired = executing()
    let isExpired = expired.expire()
    #expect(isExpired && expired.isCanceledOrExpired)
    _ = expired.finish(throwing: failure)
    let error = expired.error as? CoherenceError
    #expect(error?.code == .timedOut && error?.isRetryable == true && error?.underlying is CoherenceError)
    #expect(expired.status == .failed)

    var canceled = executing()
    _ = canceled.expire()
    _ = canceled.cancel()
    _ = canceled.finish(throwing: failure)
    #expect((canceled.error as? CoherenceError)?.code == .storeBusy && canceled.status == .canceled)
  }

  @Test func `a replaced action ends with actionReplaced, unless it was cancelled before`() {
    var replaced = executing()
    let isRequested = replaced.replace()
    #expect(isRequested && replaced.statistics.isReplaced)
    _ = replaced.finish(throwing: nil)
    #expect((replaced.error as? CoherenceError)?.code == .actionReplaced && replaced.status == .canceled)

    var canceled = executing()
    _ = canceled.cancel()
    _ = canceled.replace()
    _ = canceled.finish(throwing: nil)
    #expect(canceled.error == nil && canceled.status == .canceled)
  }

  @Test func `a finished action can be neither ended, joined nor claimed`() {
    var lifecycle = executing()
    let completions = lifecycle.finish(throwing: nil).completions
    #expect(completions == [1])
    let requests = [lifecycle.cancel(), lifecycle.replace(), lifecycle.expire(), lifecycle.join(2, onlyPending: false)]
    #expect(requests == [false, false, false, false])
    let claims = [lifecycle.claim(toRun: true), lifecycle.claim(toRun: false)]
    #expect(claims == [nil, nil])
    #expect(lifecycle.state == .finished && lifecycle.status == .successful && !lifecycle.isExpired)
    let statistics = lifecycle.statistics
    #expect(!statistics.isReplaced && statistics.joins == 0 && statistics.attempts == 1)
  }

  @Test func `a pending action whose end is requested can only be claimed to finish`() {
    var canceled = LifecycleState<Int>(completions: [])
    _ = canceled.cancel()
    var expired = LifecycleState<Int>(completions: [])
    _ = expired.expire()
    for var lifecycle in [canceled, expired] {
      let run = lifecycle.claim(toRun: true)
      let end = lifecycle.claim(toRun: false)
      #expect(run == nil && end == .first)
      #expect(lifecycle.attempts == 0 && lifecycle.statistics.startTime != nil)
    }
  }

  @Test func `a further attempt keeps the time of the start`() {
    var lifecycle = executing()
    let start = lifecycle.statistics.startTime
    lifecycle.task = Task {}
    lifecycle.returnToPending()
    #expect(lifecycle.state == .pending && lifecycle.task == nil)
    let claim = lifecycle.claim(toRun: true)
    #expect(claim == .repeated && lifecycle.attempts == 2 && lifecycle.statistics.startTime == start)
  }

  @Test func `joins are counted, with or without a completion, until the end is requested`() {
    var lifecycle = executing()
    let joins = [
      lifecycle.join(2, onlyPending: true), lifecycle.join(3, onlyPending: false),
      lifecycle.join(nil, onlyPending: false),
    ]
    #expect(joins == [false, true, true] && lifecycle.statistics.joins == 2)
    _ = lifecycle.expire()
    let isJoined = lifecycle.join(4, onlyPending: false)
    #expect(!isJoined)
    let completions = lifecycle.finish(throwing: nil).completions
    #expect(completions == [1, 3])
  }

  @Test func `the end of an action returns its waiters and observers once`() {
    var lifecycle = executing()
    let waiter = CancellableWait<Void>()
    lifecycle.waiters[ObjectIdentifier(waiter)] = waiter
    lifecycle.observers.add {}
    lifecycle.task = Task {}
    lifecycle.keep(timeoutTimer: Task {})
    #expect(lifecycle.retainedCount == 1)
    let finish = lifecycle.finish(throwing: nil)
    #expect(finish.waiters.count == 1 && finish.observers.count == 1 && finish.timers.count == 1)
    #expect(lifecycle.waiters.isEmpty && lifecycle.observers.isEmpty && lifecycle.task == nil)
    #expect(lifecycle.retainedCount == 0)
  }
}
