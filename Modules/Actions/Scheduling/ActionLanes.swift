/// The states of an ``ActionQueue``'s lanes, and the choice of the lane to wake.
///
/// Actions may block, so while actions wait, each lane that starts an action wakes another lane. A series of short
/// actions, however, runs fastest in one lane: several lanes would wait for each other's locks. A lane therefore counts
/// its short actions. From ``streakLength`` in a row on, the lane has a streak: it wakes no other lane, and the second
/// of two lanes with a streak becomes idle. The queue checks for stalled streaks from time to time, because a lane with
/// a streak may have started a long action.
struct ActionLanes<Item: QueuedAction> {
  private enum State {
    case idle
    case woken
    case running(Item)
  }

  private struct Lane {
    var state = State.idle
    /// The number of short actions in a row, up to the latest action.
    var streak = 0
    /// The number of actions that the lane has started.
    var startCount = 0
    /// The number of actions that the lane had started at the latest check for stalled streaks.
    var checkedStartCount = 0
  }

  /// The number of short actions in a row that make a streak.
  private static var streakLength: Int { 4 }

  private var lanes: [Lane]
  // The numbers of lanes by state, so that an action costs no pass over a great number of lanes.
  private var idleCount: Int
  private var wokenCount = 0
  /// The number of running lanes with a streak.
  private var streakCount = 0

  init(_ count: Int) {
    lanes = Array(repeating: Lane(), count: count)
    idleCount = count
  }

  /// Changes a lane, and counts it under its new state.
  private mutating func change(_ index: Int, _ body: (inout Lane) -> Void) {
    count(lanes[index], -1)
    body(&lanes[index])
    count(lanes[index], 1)
  }

  private mutating func count(_ lane: Lane, _ change: Int) {
    switch lane.state {
    case .idle: idleCount += change
    case .woken: wokenCount += change
    case .running: if lane.streak >= Self.streakLength { streakCount += change }
    }
  }

  /// The actions that the lanes run.
  var running: [Item] {
    lanes.compactMap { if case .running(let action) = $0.state { action } else { nil } }
  }

  /// The index of an idle lane.
  var idle: Int? {
    hasIdle ? lanes.firstIndex { if case .idle = $0.state { true } else { false } } : nil
  }

  var hasIdle: Bool { idleCount > 0 }

  /// Whether a running lane has a streak.
  var hasStreak: Bool { streakCount > 0 }

  /// The action that a lane runs, or has run last before it looks for the next action; `nil` for a lane without one.
  func action(in index: Int) -> Item? { if case .running(let action) = lanes[index].state { action } else { nil } }

  /// Whether every lane runs an action. A woken lane has yet to find an action, and so does not count.
  var allAreRunning: Bool { idleCount + wokenCount == 0 }

  /// Marks one idle lane as woken.
  ///
  /// - Returns: The lane to wake; `nil` when no lane is idle, another woken lane has not started yet, or a running lane
  ///   has a streak.
  mutating func wakeOne() -> Int? {
    guard wokenCount == 0, streakCount == 0, let index = idle else { return nil }
    change(index) { $0.state = .woken }
    return index
  }

  /// Records the latest action of a lane, and makes the lane idle if another running lane has a streak too.
  ///
  /// - Returns: Whether the lane may take another action. A lane that became idle may not.
  mutating func mayContinue(_ index: Int, afterShort isShort: Bool) -> Bool {
    change(index) { $0.streak = isShort ? $0.streak + 1 : 0 }
    guard lanes[index].streak >= Self.streakLength else { return true }
    let hasOtherStreak = streakCount > (action(in: index) == nil ? 0 : 1)
    if hasOtherStreak { makeIdle(index) }
    return !hasOtherStreak
  }

  /// Marks a lane as running an action.
  mutating func start(_ action: Item, in index: Int) {
    change(index) { lane in
      lane.state = .running(action)
      lane.startCount += 1
    }
  }

  /// Marks a lane as idle, and ends its streak.
  mutating func makeIdle(_ index: Int) {
    change(index) { lane in
      lane.state = .idle
      lane.streak = 0
    }
  }

  /// Ends the streaks of lanes that started no action since the previous call: their present action is a long one.
  mutating func endStalledStreaks() {
    for index in lanes.indices {
      if lanes[index].startCount == lanes[index].checkedStartCount { change(index) { $0.streak = 0 } }
      lanes[index].checkedStartCount = lanes[index].startCount
    }
  }
}
