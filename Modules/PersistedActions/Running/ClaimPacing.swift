/// Decides how many actions a worker claims in advance, beyond the actions that it runs concurrently.
///
/// Short actions are claimed in advance, so that one transaction claims many of them. Long actions are claimed only
/// when they can start: a claimed action would wait for this worker while another worker is free.
struct ClaimPacing {
  let concurrency: Int
  /// The greatest number of actions to claim in advance.
  let maximum: Int
  /// The number of measured attempts.
  private var count = 0
  /// The mean duration of recent attempts in seconds.
  private var meanDuration = 0.0
  /// The work to claim in advance: the seconds for which it occupies all concurrent slots.
  private static let horizon = 0.05

  init(concurrency: Int, maximum: Int) {
    self.concurrency = concurrency
    self.maximum = maximum
  }

  /// Adds the duration of an attempt to the mean.
  mutating func note(_ duration: Duration) {
    let seconds = max(0, duration / .seconds(1))
    meanDuration = count == 0 ? seconds : meanDuration * 0.9 + seconds * 0.1
    count += 1
  }

  /// The number of actions to claim in advance; zero until the mean has enough attempts.
  var ahead: Int {
    guard count >= concurrency else { return 0 }
    let fitting = Self.horizon * Double(concurrency) / max(meanDuration, 1e-6)
    return fitting < Double(maximum) ? Int(fitting) : maximum
  }

  /// The maximum number of claimed actions, running and in advance.
  var capacity: Int { concurrency + ahead }
}
