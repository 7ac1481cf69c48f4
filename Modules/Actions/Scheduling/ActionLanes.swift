/// The lanes of a queue: which of them are at work, and which are to be woken.
///
/// Actions may block, so while any wait, another lane is woken as soon as a lane found an action. Many short actions in
/// a row are better served by one lane, though, for several would only wait for each other's locks. So a lane in a
/// streak of short actions wakes no other, and one of two such lanes rests. Whether the other lane has met a longer
/// action, the queue looks after from time to time.
struct ActionLanes {
  private enum Lane {
    case idle
    case woken
    case running(AnyActionHandle)
  }

  /// How many short actions in a row make a streak.
  private static let streak = 4

  private var lanes: [Lane]
  /// By lane, how many of its latest actions were short.
  private var short: [Int]
  /// By lane, how many actions it took, and how many of them when it was looked after the last time.
  private var taken: [(now: Int, before: Int)]

  init(_ count: Int) {
    lanes = Array(repeating: .idle, count: count)
    short = Array(repeating: 0, count: count)
    taken = Array(repeating: (0, 0), count: count)
  }

  var running: [AnyActionHandle] {
    lanes.compactMap { if case .running(let handle) = $0 { handle } else { nil } }
  }

  var hasIdle: Bool { idle != nil }

  /// Whether each of them runs an action. A woken lane looks for an action first.
  var areTaken: Bool { lanes.allSatisfy { if case .running = $0 { true } else { false } } }

  private var idle: Int? { lanes.firstIndex { if case .idle = $0 { true } else { false } } }

  /// The lane to wake, if any: one at a time, and none beside a lane in a streak.
  mutating func wakeOne() -> Int? {
    for (index, lane) in lanes.enumerated() {
      switch lane {
      case .woken: return nil
      case .running: if short[index] >= Self.streak { return nil }
      case .idle: break
      }
    }
    let idle = idle
    if let idle { lanes[idle] = .woken }
    return idle
  }

  /// Notes how the latest action of a lane was.
  ///
  /// - Returns: Whether the lane may take another one. Otherwise it rests, and leaves what waits to a lane like it.
  mutating func goOn(_ lane: Int, afterShort isShort: Bool) -> Bool {
    short[lane] = isShort ? short[lane] + 1 : 0
    guard short[lane] >= Self.streak else { return true }
    let hasLikeIt = lanes.indices.contains { index in
      if index != lane, short[index] >= Self.streak, case .running = lanes[index] { true } else { false }
    }
    if hasLikeIt { rest(lane) }
    return !hasLikeIt
  }

  mutating func take(_ handle: AnyActionHandle, lane: Int) {
    lanes[lane] = .running(handle)
    taken[lane].now += 1
  }

  mutating func rest(_ lane: Int) {
    lanes[lane] = .idle
    short[lane] = 0
  }

  /// Ends the streaks of lanes that took no action since the last time.
  mutating func lookAfter() {
    for lane in lanes.indices {
      if taken[lane].now == taken[lane].before { short[lane] = 0 }
      taken[lane].before = taken[lane].now
    }
  }
}
