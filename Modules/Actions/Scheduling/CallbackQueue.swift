import DequeModule
import Dispatch
import Synchronization

/// Calls blocks of the program in the order of arrival. The blocks may block: they run on threads that neither actions nor
/// tasks use.
///
/// One lane, a serial dispatch queue, calls the blocks one after the other, so blocks that return at once share a thread.
/// When blocks wait and no block has begun for a millisecond, another lane is woken, up to the width of the queue. A block
/// therefore waits about a millisecond for each blocked block before it. It waits longer only while the number of blocked
/// blocks equals the width.
///
/// Neither a global queue nor a task calls the blocks: both have few threads, which every task of the process shares.
/// Libdispatch ends the thread of an idle serial queue after a few seconds.
///
/// May be used from any thread.
final class CallbackQueue: Sendable {
  typealias Block = @Sendable () -> Void

  private let name: String
  private let width: Int
  /// Calls a block after a moment.
  private let afterMoment: @Sendable (@escaping Block) -> Void
  private let content = Mutex(Content())

  private struct Content {
    var waiting = Deque<Block>()
    /// The idle lanes, the latest lane at the end.
    var idle: [DispatchQueue] = []
    /// The number of woken and working lanes.
    var activeCount = 0
    /// Whether a woken lane has not begun yet.
    var isWaking = false
    /// Whether a block has begun since the previous check.
    var hasBegun = false
    /// Whether a check is scheduled.
    var isCheckScheduled = false

    /// Whether more blocks wait than the woken lane will take first.
    var isBehind: Bool { waiting.count > (isWaking ? 1 : 0) }
  }

  /// The calls into Dispatch that follow a change, made after the lock is released.
  private struct Step {
    var lane: DispatchQueue?
    var schedulesCheck = false
  }

  /// - Parameters:
  ///   - name: The label of the dispatch queues.
  ///   - width: The maximum number of blocked blocks before further blocks wait; at least one.
  ///   - afterMoment: Calls a block after the time in which a waiting block has to begin; a millisecond by default. Tests
  ///     pass their own function.
  init(name: String, width: Int, afterMoment: (@Sendable (@escaping Block) -> Void)? = nil) {
    self.name = name
    self.width = max(1, width)
    self.afterMoment = afterMoment ?? { Self.timer.asyncAfter(deadline: .now() + .milliseconds(1), execute: $0) }
  }

  /// The largest number of simultaneously active lanes so far. For tests.
  var laneCount: Int { content.withLock { $0.idle.count + $0.activeCount } }

  func add(_ block: @escaping Block) {
    perform(
      content.withLock { content in
        content.waiting.append(block)
        return nextStep(&content, mayWake: content.activeCount == 0)
      })
  }

  /// Called under the lock. The invariant: when blocks wait, a lane is woken and takes the only one, or a check is
  /// scheduled, or every lane works and takes the next block after its present one.
  private func nextStep(_ content: inout Content, mayWake: Bool) -> Step {
    var step = Step()
    guard !content.waiting.isEmpty, content.activeCount < width else { return step }
    if mayWake, !content.isWaking {
      step.lane = content.idle.popLast() ?? DispatchQueue(label: name)
      content.activeCount += 1
      content.isWaking = true
    }
    if content.isBehind, !content.isCheckScheduled, content.activeCount < width {
      content.isCheckScheduled = true
      content.hasBegun = false
      step.schedulesCheck = true
    }
    return step
  }

  private func perform(_ step: Step) {
    if let lane = step.lane { lane.async { self.work(in: lane) } }
    if step.schedulesCheck { afterMoment { self.check() } }
  }

  /// Calls blocks until none waits.
  private func work(in lane: DispatchQueue) {
    var isWoken = true
    while let block = takeNext(for: lane, isWoken: isWoken) {
      isWoken = false
      block()
    }
  }

  /// - Parameter isWoken: Whether the lane was woken and takes its first block.
  private func takeNext(for lane: DispatchQueue, isWoken: Bool) -> Block? {
    content.withLock { content in
      if isWoken { content.isWaking = false }
      guard let block = content.waiting.popFirst() else {
        content.activeCount -= 1
        content.idle.append(lane)
        return nil
      }
      content.hasBegun = true
      return block
    }
  }

  /// Wakes another lane when blocks wait and none has begun since the check was scheduled.
  private func check() {
    perform(
      content.withLock { content in
        content.isCheckScheduled = false
        return nextStep(&content, mayWake: !content.hasBegun)
      })
  }

  private static let timer = DispatchQueue(label: "connect.queue.callback.watch", qos: .utility)
}
