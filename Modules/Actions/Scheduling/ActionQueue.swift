import Dispatch
import Synchronization

/// Runs actions by priority, then in the order of arrival, up to a fixed number of actions at once.
///
/// Each simultaneous action has a lane, a serial dispatch queue. Actions may block, and only a serial queue is certain to
/// get a thread however many other threads are blocked. A woken lane runs actions until the backlog is empty.
///
/// May be used from any thread.
final class ActionQueue<Item: QueuedAction>: Sendable {
  let name: String
  private let lanes: [DispatchQueue]
  private let content: Mutex<Content>

  private struct Content {
    var backlog = ActionBacklog<Item>()
    /// Actions that belong to the queue and are not in its backlog yet, with their conditions.
    var held: [ObjectIdentifier: (action: Item, condition: HoldCondition)] = [:]
    var lanes: ActionLanes<Item>
    var isSuspended: Bool
    /// Whether a check for stalled streaks is scheduled.
    var isCheckScheduled = false

    private var hasWork: Bool { !isSuspended && !backlog.isEmpty }

    /// Marks an idle lane as woken if actions wait, and schedules a check for stalled streaks.
    mutating func wakeOne() -> Wakeup {
      guard hasWork, lanes.hasIdle else { return Wakeup() }
      let lane = lanes.wakeOne()
      defer { isCheckScheduled = true }
      return Wakeup(lane: lane, schedulesCheck: !isCheckScheduled)
    }

    /// Starts the next action in a lane, or makes the lane idle.
    mutating func startNext(in lane: Int, afterShort isShort: Bool) -> Item? {
      guard lanes.mayContinue(lane, afterShort: isShort) else { return nil }
      guard !isSuspended, let action = backlog.popFirst() else {
        lanes.makeIdle(lane)
        return nil
      }
      lanes.start(action, in: lane)
      return action
    }
  }

  /// The calls into Dispatch that follow a change, made after the lock is released.
  private struct Wakeup {
    var lane: Int?
    var schedulesCheck = false
  }

  /// - Parameters:
  ///   - name: The label of the dispatch queues.
  ///   - width: The number of lanes, at least one.
  init(name: String, width: Int, isSuspended: Bool) {
    self.name = name
    lanes = (0..<width).map { _ in DispatchQueue(label: name, qos: .utility) }
    content = Mutex(Content(lanes: ActionLanes(width), isSuspended: isSuspended))
  }

  /// Whether waiting actions continue to wait. Running actions continue in any case.
  var isSuspended: Bool {
    get { content.withLock { $0.isSuspended } }
    set {
      perform(
        content.withLock { content in
          content.isSuspended = newValue
          return content.wakeOne()
        })
    }
  }

  // MARK: Entering and leaving

  /// Appends an action to the backlog, whether it was held before or is new.
  func enqueue(_ action: Item) {
    perform(
      content.withLock { content in
        if !content.held.isEmpty { content.held[ObjectIdentifier(action)] = nil }
        content.backlog.append(action)
        return content.wakeOne()
      })
  }

  /// Keeps an action out of the backlog until `enqueue` is called. Does nothing after the action has begun or ended.
  func hold(_ action: Item, for condition: HoldCondition) {
    content.withLock { content in
      if action.isPending { content.held[ObjectIdentifier(action)] = (action, condition) }
    }
  }

  /// Removes an action that finished without running. The action is not pending any more.
  func withdraw(_ action: Item) {
    content.withLock { content in
      if content.held.removeValue(forKey: ObjectIdentifier(action)) == nil { content.backlog.didWithdraw() }
    }
  }

  /// Moves an action of the backlog behind the actions of its new, higher priority.
  func raise(_ action: Item) { content.withLock { $0.backlog.raise(action) } }

  /// Every unfinished action: waiting, held and running.
  var unfinished: [Item] {
    content.withLock { content in
      content.backlog.pending + content.held.values.map(\.action) + content.lanes.running
    }
  }

  // MARK: Blockers

  /// The reasons why a pending action cannot start yet.
  struct Blockers {
    /// The condition that keeps the action out of the backlog; `nil` for an action in the backlog.
    var condition: HoldCondition?
    /// The actions of all lanes, one of which has to finish before a lane takes the action. Empty if a lane is free or
    /// about to be, and while the queue waits to be resumed.
    var running: [Item] = []
  }

  func blockers(of action: Item) -> Blockers {
    content.withLock { content in
      let blockers = Blockers(condition: content.held[ObjectIdentifier(action)]?.condition)
      guard !content.isSuspended, content.lanes.allAreRunning else { return blockers }
      // A lane may have taken this action, which is pending until the lane runs it. The action does not block itself.
      let running = content.lanes.running
      return running.contains { $0 === action } ? blockers : Blockers(condition: blockers.condition, running: running)
    }
  }

  // MARK: Lanes

  private func perform(_ wakeup: Wakeup) {
    if let lane = wakeup.lane { lanes[lane].async { self.work(inLane: lane) } }
    if wakeup.schedulesCheck {
      laneCheckQueue.asyncAfter(deadline: .now() + .milliseconds(1)) { self.checkLanes() }
    }
  }

  /// Runs actions until the backlog is empty.
  ///
  /// - Parameter first: An action that the lane has started already.
  private func work(inLane lane: Int, startingWith first: Item? = nil) {
    var next = first ?? startNext(in: lane, afterShort: false)
    while let action = next {
      guard let time = action.run(inLane: lane) else { return }
      next = startNext(in: lane, afterShort: time < maximumShortTime)
    }
  }

  private func startNext(in lane: Int, afterShort isShort: Bool) -> Item? {
    let (action, wakeup) = content.withLock { ($0.startNext(in: lane, afterShort: isShort), $0.wakeOne()) }
    perform(wakeup)
    return action
  }

  /// Continues a lane whose action ran in a task and has finished. Asynchronous actions start on the calling thread.
  ///
  /// - Parameter time: The execution time in nanoseconds.
  func laneDidFinish(_ lane: Int, after time: UInt64) {
    var isShort = time < maximumShortTime
    while let action = startNext(in: lane, afterShort: isShort) {
      if action.mayBlock { return lanes[lane].async { self.work(inLane: lane, startingWith: action) } }
      guard let time = action.run(inLane: lane) else { return }
      isShort = time < maximumShortTime
    }
  }

  private func checkLanes() {
    perform(
      content.withLock { content in
        content.isCheckScheduled = false
        content.lanes.endStalledStreaks()
        return content.wakeOne()
      })
  }
}

/// The condition that keeps an action out of the backlog of its queue.
enum HoldCondition {
  /// The start of the Connect.
  case start
  /// The end of the action's prerequisites.
  case prerequisites
  /// A free slot of the action's concurrency limit.
  case slot
  /// The end of the delay before the next attempt.
  case delay
}

/// Nanoseconds. An action below this time counts as short: waking another thread for it costs about as much as the
/// action.
private let maximumShortTime: UInt64 = 20_000

private let laneCheckQueue = DispatchQueue(label: "connect.queue.watch", qos: .utility)
