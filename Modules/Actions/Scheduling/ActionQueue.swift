import Dispatch
import Synchronization

/// Runs actions by priority and in the order in which they came, up to a number of them at once.
///
/// Each of the simultaneous actions has a lane, a serial queue: actions block, and only a serial queue is certain of a
/// thread of its own, however many others are blocked. A woken lane runs actions until none is left.
final class ActionQueue: Sendable {
  let name: String
  private let lanes: [DispatchQueue]
  private let content: Mutex<Content>

  /// The condition that an action without a place in the backlog yet waits for.
  enum Gate {
    /// The start of the Connect.
    case start
    case dependencies
    case limit
    /// The time before its next attempt.
    case delay
  }

  private struct Content {
    var backlog = ActionBacklog()
    var held: [ObjectIdentifier: (handle: AnyActionHandle, gate: Gate)] = [:]
    var lanes: ActionLanes
    var isSuspended: Bool
    /// Whether a look after the lanes is due soon.
    var isWatched = false

    private var hasWork: Bool { !isSuspended && !backlog.isEmpty }

    mutating func wakeOne() -> Wake {
      guard hasWork, lanes.hasIdle else { return Wake() }
      let lane = lanes.wakeOne()
      defer { isWatched = true }
      return Wake(lane: lane, watches: !isWatched)
    }

    /// Gives the next action to a lane, or lets it rest.
    mutating func takeNext(for lane: Int, afterShort isShort: Bool) -> AnyActionHandle? {
      guard lanes.goOn(lane, afterShort: isShort) else { return nil }
      guard !isSuspended, let handle = backlog.popFirst() else {
        lanes.rest(lane)
        return nil
      }
      lanes.take(handle, lane: lane)
      return handle
    }
  }

  /// The work to do once the lock is given back.
  private struct Wake {
    var lane: Int?
    var watches = false
  }

  init(name: String, width: Int, isSuspended: Bool) {
    self.name = name
    lanes = (0..<width).map { _ in DispatchQueue(label: name, qos: .utility) }
    content = Mutex(Content(lanes: ActionLanes(width), isSuspended: isSuspended))
  }

  /// Whether waiting actions continue to wait. Running actions continue.
  var isSuspended: Bool {
    get { content.withLock { $0.isSuspended } }
    set {
      wake(
        content.withLock { content in
          content.isSuspended = newValue
          return content.wakeOne()
        })
    }
  }

  // MARK: Coming and going

  /// The action waits in line from now on.
  func enqueue(_ handle: AnyActionHandle) {
    wake(
      content.withLock { content in
        if !content.held.isEmpty { content.held[ObjectIdentifier(handle)] = nil }
        content.backlog.append(handle)
        return content.wakeOne()
      })
  }

  /// The action waits for a condition before its turn, unless it was ended just now.
  func hold(_ handle: AnyActionHandle, at gate: Gate) {
    content.withLock { content in
      if handle.isPending { content.held[ObjectIdentifier(handle)] = (handle, gate) }
    }
  }

  /// The action does not wait any more: it ended before its turn came.
  func withdraw(_ handle: AnyActionHandle) {
    content.withLock { content in
      if content.held.removeValue(forKey: ObjectIdentifier(handle)) == nil { content.backlog.didWithdraw() }
    }
  }

  /// Moves an action, if it waits in line, forward to its priority, which was raised.
  func raise(_ handle: AnyActionHandle) { content.withLock { $0.backlog.raise(handle) } }

  /// Every unfinished action.
  var unfinished: [AnyActionHandle] {
    content.withLock { content in
      content.backlog.pending + content.held.values.map(\.handle) + content.lanes.running
    }
  }

  /// The obstacle for a pending action.
  func obstacle(of handle: AnyActionHandle) -> Obstacle {
    content.withLock { content in
      if let held = content.held[ObjectIdentifier(handle)] { return .gate(held.gate) }
      if content.isSuspended { return .none }
      guard content.lanes.areTaken else { return .none }
      // A lane that took an action just now has not begun with it yet.
      let running = content.lanes.running
      return running.contains { $0 === handle } ? .none : .lanes(running)
    }
  }

  enum Obstacle {
    /// Its turn comes, or the queue is resumed.
    case none
    case gate(Gate)
    /// Every lane is taken, by these.
    case lanes([AnyActionHandle])
  }

  // MARK: Lanes

  private func wake(_ wake: Wake) {
    if let lane = wake.lane { lanes[lane].async { self.work(inLane: lane) } }
    if wake.watches { Self.watch.asyncAfter(deadline: .now() + .milliseconds(1)) { self.lookAfterLanes() } }
  }

  /// Runs actions, first of all one that the lane has already, until none is left.
  private func work(inLane lane: Int, beginningWith first: AnyActionHandle? = nil) {
    var next = first ?? takeNext(for: lane, afterShort: false)
    while let handle = next {
      guard let time = handle.run(inLane: lane) else { return }
      next = takeNext(for: lane, afterShort: time < Self.shortTime)
    }
  }

  private func takeNext(for lane: Int, afterShort isShort: Bool) -> AnyActionHandle? {
    let (handle, other) = content.withLock { ($0.takeNext(for: lane, afterShort: isShort), $0.wakeOne()) }
    wake(other)
    return handle
  }

  /// An action that ran in a task has ended, after so many nanoseconds. One that runs in a task too may follow at once.
  func laneIsFree(_ lane: Int, after time: UInt64) {
    var isShort = time < Self.shortTime
    while let handle = takeNext(for: lane, afterShort: isShort) {
      if handle.mayBlock { return lanes[lane].async { self.work(inLane: lane, beginningWith: handle) } }
      guard let time = handle.run(inLane: lane) else { return }
      isShort = time < Self.shortTime
    }
  }

  private func lookAfterLanes() {
    wake(
      content.withLock { content in
        content.isWatched = false
        content.lanes.lookAfter()
        return content.wakeOne()
      })
  }

  /// Nanoseconds: not much more than it costs to wake another thread.
  private static let shortTime: UInt64 = 20_000
  private static let watch = DispatchQueue(label: "connect.queue.watch", qos: .utility)
}
