/// The cost of one run of an operation.
struct SizeCost {
  let seconds: Double
  /// The number of records or calls in the run.
  let count: Int

  /// The nanoseconds of one record or call.
  var nanoseconds: Double { seconds * 1e9 / Double(count) }

  init(seconds: Double, count: Int) {
    self.seconds = seconds
    self.count = count
  }

  /// Measures work with a number of records or calls. The time does not include the release of the work's result.
  init<Kept>(of count: Int, _ work: () throws -> Kept) throws {
    let start = ContinuousClock.now
    let kept = try work()
    let duration = ContinuousClock.now - start
    withExtendedLifetime(kept) {}
    self.init(seconds: duration / .seconds(1), count: count)
  }
}
