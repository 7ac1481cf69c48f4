import DequeModule
import Dispatch
import Synchronization

/// Calls blocks of the program that may block, in the order in which they came, on threads that no action and no task
/// needs.
///
/// One lane, a serial queue, calls the blocks for as long as they return, so blocks that return at once share a thread.
/// While blocks wait and none has begun for a millisecond, another lane is woken, up to the width of the queue. A block
/// therefore waits about a millisecond for each block before it, and longer only while as many blocks as the queue is
/// wide are blocked.
///
/// Neither a global queue nor a task calls the blocks: both have few threads, and share them with every task of the
/// process. A serial queue has a thread for itself, which libdispatch ends a few seconds after the last block.
final class CallbackQueue: Sendable {
  typealias Block = @Sendable () -> Void

  private let name: String
  private let width: Int
  /// Calls a block after a moment.
  private let afterMoment: @Sendable (@escaping Block) -> Void
  private let content = Mutex(Content())

  private struct Content {
    var waiting = Deque<Block>()
    /// The lanes without work, the one that worked last at the end.
    var idle: [DispatchQueue] = []
    /// The number of lanes that are woken or at work.
    var activeCount = 0
    /// Whether a woken lane has not begun yet.
    var isWaking = false
    /// Whether a block has begun since the last look.
    var hasBegun = false
    /// Whether a look is due soon.
    var isWatched = false

    /// Whether more blocks wait than the woken lane takes.
    var isBehind: Bool { waiting.count > (isWaking ? 1 : 0) }
  }

  /// The work to do once the lock is given back.
  private struct Step {
    var lane: DispatchQueue?
    var watches = false
  }

  /// - Parameters:
  ///   - width: The number of blocks that may be blocked at once before further blocks wait.
  ///   - afterMoment: Calls a block after the time in which a block has to begin; a millisecond without.
  init(name: String, width: Int, afterMoment: (@Sendable (@escaping Block) -> Void)? = nil) {
    self.name = name
    self.width = max(1, width)
    self.afterMoment = afterMoment ?? { Self.watch.asyncAfter(deadline: .now() + .milliseconds(1), execute: $0) }
  }

  /// The number of lanes that were ever needed at once. For tests.
  var laneCount: Int { content.withLock { $0.idle.count + $0.activeCount } }

  func add(_ block: @escaping Block) {
    perform(
      content.withLock { content in
        content.waiting.append(block)
        return nextStep(&content, mayWake: content.activeCount == 0)
      })
  }

  /// Called under the lock. Where blocks wait, one of three is always true: a lane was woken for the only one, a look is
  /// due, or every lane is at work and takes the next block when its own returns.
  private func nextStep(_ content: inout Content, mayWake: Bool) -> Step {
    var step = Step()
    guard !content.waiting.isEmpty, content.activeCount < width else { return step }
    if mayWake, !content.isWaking {
      step.lane = content.idle.popLast() ?? DispatchQueue(label: name)
      content.activeCount += 1
      content.isWaking = true
    }
    if content.isBehind, !content.isWatched, content.activeCount < width {
      content.isWatched = true
      content.hasBegun = false
      step.watches = true
    }
    return step
  }

  private func perform(_ step: Step) {
    if let lane = step.lane { lane.async { self.work(in: lane) } }
    if step.watches { afterMoment { self.look() } }
  }

  /// Calls blocks until none waits.
  private func work(in lane: DispatchQueue) {
    var isWoken = true
    while let block = takeNext(for: lane, isWoken: isWoken) {
      isWoken = false
      block()
    }
  }

  /// - Parameter isWoken: Whether the lane begins, after it was woken.
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

  /// Wakes another lane where blocks wait and none has begun since the last look.
  private func look() {
    perform(
      content.withLock { content in
        content.isWatched = false
        return nextStep(&content, mayWake: !content.hasBegun)
      })
  }

  private static let watch = DispatchQueue(label: "connect.queue.callback.watch", qos: .utility)
}
