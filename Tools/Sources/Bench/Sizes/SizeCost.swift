/// The cost of one run of an operation.
struct SizeCost {
  let seconds: Double
  /// The number of records, or of calls, that the seconds are divided by.
  let count: Int

  /// The nanoseconds of one record or call.
  var nanoseconds: Double { seconds * 1e9 / Double(count) }

  init(seconds: Double, count: Int) {
    self.seconds = seconds
    self.count = count
  }

  /// Times work for some records or calls. What the work returns is released after the time was taken.
  init<Kept>(of count: Int, _ work: () throws -> Kept) throws {
    let start = ContinuousClock.now
    let kept = try work()
    let duration = ContinuousClock.now - start
    withExtendedLifetime(kept) {}
    self.init(seconds: duration / .seconds(1), count: count)
  }
}
