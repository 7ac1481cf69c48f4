/// Decides how many actions a worker claims beyond the actions that it runs at once.
///
/// Short actions are claimed ahead, so that one transaction serves many of them. Long actions are not: they would wait
/// for this worker while another one is free.
struct ClaimPacing {
  let concurrency: Int
  let maximum: Int
  private var count = 0
  /// The mean duration of recent attempts in seconds.
  private var meanDuration = 0.0
  /// The time in seconds for which actions are claimed ahead.
  private static let horizon = 0.05

  init(concurrency: Int, maximum: Int) {
    self.concurrency = concurrency
    self.maximum = maximum
  }

  /// Notes the duration of an attempt.
  mutating func note(_ duration: Duration) {
    let seconds = max(0, duration / .seconds(1))
    meanDuration = count == 0 ? seconds : meanDuration * 0.9 + seconds * 0.1
    count += 1
  }

  /// The number of actions to claim beyond the running ones.
  var ahead: Int {
    guard count >= concurrency else { return 0 }
    let fitting = Self.horizon * Double(concurrency) / max(meanDuration, 1e-6)
    return fitting < Double(maximum) ? Int(fitting) : maximum
  }

  /// The number of claimed actions that the worker may have.
  var capacity: Int { concurrency + ahead }
}
