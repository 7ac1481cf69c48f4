import Dispatch
import Synchronization

/// Runs actions by priority, then in the order of arrival, up to a fixed number of actions at once. An action with a
/// ``ConcurrencyLimit`` needs a slot of its limit too, and lets later actions begin while the limit has no free slot.
///
/// Each simultaneous action has a lane, a serial dispatch queue. Actions may block, and only a serial queue is certain to
/// get a thread however many other threads are blocked. A woken lane runs actions until none can begin.
///
/// May be used from any thread.
final class ActionQueue<Item: QueuedAction>: Sendable {
  let name: String
  private let groups: ConcurrencyGroups<Item>
  private let lanes: [DispatchQueue]
  /// Calls a block after a moment.
  private let afterMoment: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let content: Mutex<Content>

  private struct Content {
    var waiting = WaitingActions<Item>()
    /// Actions that belong to the queue and do not wait for a lane yet, with their conditions.
    var held: [ObjectIdentifier: (action: Item, condition: HoldCondition)] = [:]
    var lanes: ActionLanes<Item>
    var isSuspended: Bool
    /// The names of the limits with a slot reserved for the queue.
    var reservations: Set<String> = []
    /// Whether a check for stalled streaks is scheduled.
    var isCheckScheduled = false

    /// Whether an idle lane may start an action with a limit. A lane with a streak takes the action otherwise: waking
    /// another thread costs about as much as many short actions.
    var mayStartInIdleLane: Bool { lanes.hasIdle && !lanes.hasStreak }

    /// Marks an idle lane as woken if it would find an action, and schedules a check for stalled streaks. Actions with a
    /// limit begin in an idle lane without its waking, as soon as they can; see ``ActionQueue/startInIdleLane()``.
    mutating func wakeOne() -> Wakeup {
      guard !isSuspended, lanes.hasIdle, waiting.hasUnlimited || waiting.hasLimited && lanes.hasStreak else {
        return Wakeup()
      }
      let lane = waiting.hasUnlimited ? lanes.wakeOne() : nil
      defer { isCheckScheduled = true }
      return Wakeup(lane: lane, schedulesCheck: !isCheckScheduled)
    }

    /// Starts the next action in a lane, or makes the lane idle.
    mutating func startNext(in lane: Int, afterShort isShort: Bool, acquiresSlot: (Item) -> Bool) -> Item? {
      guard lanes.mayContinue(lane, afterShort: isShort) else { return nil }
      let action = startNext(in: lane, acquiresSlot: acquiresSlot)
      if action == nil { lanes.makeIdle(lane) }
      return action
    }

    /// Starts the next action in an idle lane, if both exist.
    mutating func startInIdleLane(acquiresSlot: (Item) -> Bool) -> (lane: Int, action: Item)? {
      guard let lane = lanes.idle, let action = startNext(in: lane, acquiresSlot: acquiresSlot) else { return nil }
      return (lane, action)
    }

    private mutating func startNext(in lane: Int, acquiresSlot: (Item) -> Bool) -> Item? {
      guard !isSuspended, let action = waiting.popFirst(acquiresSlot: acquiresSlot) else { return nil }
      lanes.start(action, in: lane)
      if let limit = action.limit { reservations.remove(limit.name) }
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
  ///   - groups: The slots of the limits, which several queues share.
  ///   - afterMoment: Calls a block after the time between two checks for stalled streaks; a millisecond by default.
  ///     Tests pass their own function.
  init(
    name: String, width: Int, isSuspended: Bool, groups: ConcurrencyGroups<Item> = ConcurrencyGroups<Item>(),
    afterMoment: (@Sendable (@escaping @Sendable () -> Void) -> Void)? = nil
  ) {
    self.name = name
    self.groups = groups
    self.afterMoment = afterMoment ?? { laneCheckQueue.asyncAfter(deadline: .now() + .milliseconds(1), execute: $0) }
    lanes = (0..<width).map { _ in DispatchQueue(label: name, qos: .utility) }
    content = Mutex(Content(lanes: ActionLanes(width), isSuspended: isSuspended))
  }

  /// Whether waiting actions continue to wait. Running actions continue in any case. After queues are resumed, the
  /// caller fills the slots of the limits.
  var isSuspended: Bool {
    get { content.withLock { $0.isSuspended } }
    set {
      perform(
        content.withLock { content in
          content.isSuspended = newValue
          return content.wakeOne()
        })
      if newValue { endReservations() }
    }
  }

  // MARK: Entering and leaving

  /// Lets an action wait for a lane and a slot, whether it was held before or is new.
  ///
  /// - Parameter asksForFirstTime: Whether the maximum of the action's limit becomes the maximum of its group; see
  ///   ``ConcurrencyGroups``.
  func enqueue(_ action: Item, asksForFirstTime: Bool = true) {
    let limit = action.limit
    perform(
      content.withLock { content in
        if !content.held.isEmpty { content.held[ObjectIdentifier(action)] = nil }
        if let limit, !groups.ask(for: limit, action, of: self, asksForFirstTime: asksForFirstTime) { return Wakeup() }
        content.waiting.append(action, arrival: groups.nextArrival())
        return content.wakeOne()
      })
    // An earlier action may take a slot too: a limit with a greater maximum has several free slots.
    if let limit { groups.fillSlots(ofLimit: limit.name) }
  }

  /// Keeps an action from waiting for a lane until `enqueue` is called. Does nothing after the action has begun or ended.
  func hold(_ action: Item, for condition: HoldCondition) {
    content.withLock { content in
      if action.isPending { content.held[ObjectIdentifier(action)] = (action, condition) }
    }
  }

  /// Removes an action that finished without running. The action is not pending any more.
  func withdraw(_ action: Item) {
    content.withLock { content in
      if content.held.removeValue(forKey: ObjectIdentifier(action)) == nil { content.waiting.didWithdraw(action) }
    }
  }

  /// Moves a waiting action behind the actions of its new, higher priority.
  func raise(_ action: Item) { content.withLock { $0.waiting.raise(action, arrival: groups.nextArrival()) } }

  /// Every unfinished action: waiting, held and running.
  var unfinished: [Item] {
    content.withLock { content in
      content.waiting.pending + content.held.values.map(\.action) + content.lanes.running
    }
  }

  // MARK: Slots

  /// Releases the slot of an action, or ends its wait for a slot. Does nothing for an action without a limit.
  ///
  /// - Parameter laneContinues: Whether the lane of the action certainly looks for its next action after this call. A
  ///   slot left to another lane would stay free.
  func releaseSlot(of action: Item, laneContinues: Bool = false) {
    if let limit = action.limit {
      groups.releaseSlot(of: limit, by: action, of: self, laneContinues: laneContinues)
    }
  }

  /// Starts the next action in an idle lane. The action takes its slot and its lane in one step.
  ///
  /// - Returns: Whether an action has started.
  func startInIdleLane() -> Bool {
    guard let start = content.withLock({ $0.startInIdleLane(acquiresSlot: acquireSlot) }) else { return false }
    lanes[start.lane].async { self.work(inLane: start.lane, startingWith: start.action) }
    return true
  }

  private func acquireSlot(for action: Item) -> Bool {
    guard let limit = action.limit else { return true }
    return groups.acquireSlot(of: limit, for: action, of: self)
  }

  /// The position of the first action of a limit, and whether a lane can start an action; `nil` if no action of the limit
  /// can start and none is overdue.
  ///
  /// - Parameter isContinuing: Whether a lane of the queue is about to look for its next action.
  func firstAction(ofLimit name: String, isContinuing: Bool) -> (position: QueuePosition, canStart: Bool)? {
    content.withLock { content in
      let canStart = isContinuing || content.mayStartInIdleLane
      guard !content.isSuspended, canStart || content.waiting.isOverdue(limit: name),
        let position = content.waiting.firstPosition(ofLimit: name)
      else { return nil }
      return (position, canStart)
    }
  }

  /// Reserves the next slot of a limit for an overdue action.
  func reserveSlot(ofLimit name: String) {
    content.withLock { content in
      // In one step, so that an end of the reservations either precedes the reservation or finds it.
      guard content.waiting.isOverdue(limit: name), groups.reserveSlot(ofLimit: name, for: self) else { return }
      content.reservations.insert(name)
    }
  }

  /// Ends the reservations of slots, which otherwise stay until a lane is free. Lets overdue actions wait like others.
  func endReservations() {
    let names = content.withLock { content in
      let names = content.reservations
      for name in names { groups.endReservation(ofLimit: name, for: self) }
      content.reservations = []
      content.waiting.forgetOvertaking()
      return names
    }
    for name in names { groups.fillSlots(ofLimit: name) }
  }

  // MARK: Blockers

  /// The reasons why a pending action cannot start yet.
  struct Blockers {
    /// The condition that keeps the action from waiting for a lane; `nil` for a waiting action.
    var condition: HoldCondition?
    /// The actions of all lanes, one of which has to finish before a lane takes the action. Empty if a lane is free or
    /// about to be, and while the queue waits to be resumed.
    var running: [Item] = []
    /// The actions with the slots of the action's limit.
    var slotHolders: [Item] = []
    /// The number of slot holders that must finish before the action gets a slot.
    var slotReleaseCount = 0
  }

  func blockers(of action: Item) -> Blockers {
    content.withLock { content in
      var blockers = Blockers(condition: content.held[ObjectIdentifier(action)]?.condition)
      if let limit = action.limit {
        let isFirst = blockers.condition == .prerequisites
        (blockers.slotHolders, blockers.slotReleaseCount) = groups.holders(
          of: limit, for: action, asksForFirstTime: isFirst)
      }
      guard !content.isSuspended, content.lanes.allAreRunning else { return blockers }
      // A lane may have taken this action, which is pending until the lane runs it. The action does not block itself.
      let running = content.lanes.running
      if !running.contains(where: { $0 === action }) { blockers.running = running }
      return blockers
    }
  }

  // MARK: Lanes

  private func perform(_ wakeup: Wakeup) {
    if let lane = wakeup.lane { lanes[lane].async { self.work(inLane: lane) } }
    if wakeup.schedulesCheck { afterMoment { self.checkLanes() } }
  }

  /// Runs actions until none can begin.
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
    let (former, action, wakeup, hasReservations) = content.withLock { content in
      let former = content.lanes.action(in: lane)
      let action = content.startNext(in: lane, afterShort: isShort, acquiresSlot: acquireSlot)
      return (former, action, content.wakeOne(), action != nil && !content.reservations.isEmpty)
    }
    perform(wakeup)
    // An action of a higher priority has taken the lane. Others may use the slot in the meantime.
    if hasReservations { endReservations() }
    // The release of the slot has left the slot to this lane, which has not taken it.
    if let limit = former?.limit, action?.limit?.name != limit.name { groups.fillSlots(ofLimit: limit.name) }
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
    let (wakeup, mayStart) = content.withLock { content in
      content.isCheckScheduled = false
      content.lanes.endStalledStreaks()
      return (content.wakeOne(), content.waiting.hasLimited && content.mayStartInIdleLane)
    }
    perform(wakeup)
    // The actions with a limit that were left to a lane with a streak. No other queue could have taken their slots.
    if mayStart { while startInIdleLane() {} }
  }
}

/// The condition that keeps an action from waiting for a lane of its queue.
enum HoldCondition {
  /// The start of the Connect.
  case start
  /// The end of the action's prerequisites.
  case prerequisites
  /// The end of the delay before the next attempt.
  case delay
  /// The end of the call of `cancel` of the action, after which the caller finishes the action.
  case cancellation
}

/// Nanoseconds. An action below this time counts as short: waking another thread for it costs about as much as the
/// action.
private let maximumShortTime: UInt64 = 20_000

private let laneCheckQueue = DispatchQueue(label: "connect.queue.watch", qos: .utility)
