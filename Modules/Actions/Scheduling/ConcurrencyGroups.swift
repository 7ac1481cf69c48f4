import Synchronization

/// The slots of the concurrency limits.
///
/// A group belongs to the name of a ``ConcurrencyLimit``. It exists while an action holds or awaits one of its slots.
///
/// An action takes its slot together with its lane, so that an action that waits for another reason holds no slot. A
/// lane that looks for its next action takes a slot here; the first action with an idle lane takes a slot that becomes
/// free. A lane that releases the slot of its action counts as idle: it looks for its next action at once, without a
/// change of threads. No slot is therefore free while an action that could begin waits for it, except for the moment
/// in which a lane with a streak of short actions is about to take it; see ``ActionLanes``.
///
/// An action whose lanes are busy at each release of a slot, and whose limit has no free slot at each end of an action in
/// a lane, would wait for ever. After many overtaking actions the next slot is therefore reserved for the queue of the
/// action. The reservation ends when a running action of the queue begins to wait for another action, which may need the
/// slot.
///
/// May be used from any thread. The lock is acquired after that of a queue.
final class ConcurrencyGroups<Item: QueuedAction>: Sendable {
  private let groups = Mutex<[String: Group]>([:])
  private let arrivals = Atomic<Int>(0)

  /// The waiting actions of one queue.
  private struct Waiters {
    let queue: ActionQueue<Item>
    var actions: Set<ObjectIdentifier> = []
  }

  private struct Group {
    var maximum: Int
    var holders: [ObjectIdentifier: Item] = [:]
    /// The actions without a slot, by queue.
    var waiters: [ObjectIdentifier: Waiters] = [:]
    /// The queue that one slot is reserved for.
    var reservation: ActionQueue<Item>?

    var isUnused: Bool { holders.isEmpty && waiters.isEmpty }

    mutating func add(_ action: Item, of queue: ActionQueue<Item>) {
      waiters[ObjectIdentifier(queue), default: Waiters(queue: queue)].actions.insert(ObjectIdentifier(action))
    }

    /// - Returns: Whether the action was waiting.
    mutating func removeWaiter(_ action: Item, of queue: ActionQueue<Item>) -> Bool {
      let key = ObjectIdentifier(queue)
      guard waiters[key]?.actions.remove(ObjectIdentifier(action)) != nil else { return false }
      if waiters[key]?.actions.isEmpty == true {
        waiters[key] = nil
        if reservation === queue { reservation = nil }
      }
      return true
    }

    mutating func acquireSlot(for action: Item, of queue: ActionQueue<Item>) -> Bool {
      let reservedCount = reservation == nil || reservation === queue ? 0 : 1
      guard holders.count + reservedCount < maximum, removeWaiter(action, of: queue) else { return false }
      holders[ObjectIdentifier(action)] = action
      if reservation === queue { reservation = nil }
      return true
    }
  }

  /// Returns the number of the next arrival of an action in a queue.
  func nextArrival() -> Int { arrivals.add(1, ordering: .relaxed).newValue }

  // MARK: Asking, acquiring and releasing

  /// Lets an action of a queue wait for a slot. Does nothing for a finished action, which would never end its wait.
  ///
  /// - Parameter asksForFirstTime: Whether the maximum of the action's limit becomes the maximum of the group. A later
  ///   attempt of an old action must not replace the maximum of a newer one.
  /// - Returns: Whether the action waits.
  func ask(for limit: ConcurrencyLimit, _ action: Item, of queue: ActionQueue<Item>, asksForFirstTime: Bool) -> Bool {
    groups.withLock { groups in
      guard action.isPending else { return false }
      if asksForFirstTime { groups[limit.name]?.maximum = limit.maximum }
      groups[limit.name, default: Group(maximum: limit.maximum)].add(action, of: queue)
      return true
    }
  }

  /// Gives an action a free slot before the action begins.
  ///
  /// - Returns: Whether the action has a slot. A finished action gets none.
  func acquireSlot(of limit: ConcurrencyLimit, for action: Item, of queue: ActionQueue<Item>) -> Bool {
    groups.withLock { $0[limit.name]?.acquireSlot(for: action, of: queue) ?? false }
  }

  /// Releases the slot of an action, or ends its wait for a slot. The first action ready to begin takes a free slot.
  ///
  /// - Parameter laneContinues: Whether the lane of the action looks for its next action after this call, and then fills
  ///   the slots again. A caller that cancels an action may release the slot after the lane has looked.
  func releaseSlot(
    of limit: ConcurrencyLimit, by action: Item, of queue: ActionQueue<Item>, laneContinues: Bool = false
  ) {
    let hadSlot = groups.withLock { groups in
      guard groups[limit.name] != nil else { return false }
      let hadSlot = groups[limit.name]?.holders.removeValue(forKey: ObjectIdentifier(action)) != nil
      if !hadSlot { _ = groups[limit.name]?.removeWaiter(action, of: queue) }
      if groups[limit.name]?.isUnused == true { groups[limit.name] = nil }
      return hadSlot
    }
    fillSlots(ofLimit: limit.name, continuing: hadSlot && laneContinues ? queue : nil)
  }

  /// Reserves a free slot for a queue with waiting actions. Another reservation remains.
  ///
  /// - Returns: Whether the slot is reserved.
  func reserveSlot(ofLimit name: String, for queue: ActionQueue<Item>) -> Bool {
    groups.withLock { groups in
      guard let group = groups[name], group.holders.count < group.maximum, group.reservation == nil,
        group.waiters[ObjectIdentifier(queue)] != nil
      else { return false }
      groups[name]?.reservation = queue
      return true
    }
  }

  /// Ends the reservation of a slot for a queue. The caller fills the slots afterwards, without the lock of the queue.
  func endReservation(ofLimit name: String, for queue: ActionQueue<Item>) {
    groups.withLock { groups in
      if let reservation = groups[name]?.reservation, reservation === queue { groups[name]?.reservation = nil }
    }
  }

  // MARK: Filling

  /// Lets waiting actions begin in idle lanes while the limit has free slots: by priority, then in the order in which
  /// they asked. Reserves a slot for an overdue action.
  ///
  /// - Parameter continuing: The queue with a lane that is about to look for its next action. If the first action is one
  ///   of this queue, a free slot is left to the lane.
  func fillSlots(ofLimit name: String, continuing: ActionQueue<Item>? = nil) {
    let (waiting, freeCount) = groups.withLock { groups -> ([ActionQueue<Item>], Int) in
      guard let group = groups[name], group.holders.count < group.maximum else { return ([], 0) }
      return (group.waiters.values.map(\.queue), group.maximum - group.holders.count)
    }
    var queues = waiting
    var continuing = continuing
    while true {
      var first: (index: Int, position: QueuePosition, canStart: Bool)?
      for (index, queue) in queues.enumerated() {
        guard let next = queue.firstAction(ofLimit: name, isContinuing: queue === continuing) else { continue }
        if let first, first.position < next.position { continue }
        first = (index, next.position, next.canStart)
      }
      guard let first else { return }
      let queue = queues[first.index]
      if queue === continuing {
        continuing = nil
        if freeCount == 1 { return }
        continue
      }
      if first.canStart, queue.startInIdleLane() { continue }
      if !first.canStart { queue.reserveSlot(ofLimit: name) }
      queues.remove(at: first.index)
    }
  }

  /// Fills the slots of all limits. Queues have been resumed.
  func fillAllSlots() {
    for name in groups.withLock({ Array($0.keys) }) { fillSlots(ofLimit: name) }
  }

  // MARK: Blockers

  /// Returns the actions that hold the slots of a limit, and the number of slots to be released before an action gets
  /// one: zero, if the action has a slot or would get one now.
  ///
  /// - Parameter asksForFirstTime: Whether the action has yet to ask for its first slot; see `ask`.
  func holders(
    of limit: ConcurrencyLimit, for action: Item, asksForFirstTime: Bool
  ) -> (actions: [Item], releaseCount: Int) {
    groups.withLock { groups in
      guard let group = groups[limit.name], group.holders[ObjectIdentifier(action)] == nil else { return ([], 0) }
      let maximum = asksForFirstTime ? limit.maximum : group.maximum
      return (Array(group.holders.values), max(0, group.holders.count - maximum + 1))
    }
  }
}
