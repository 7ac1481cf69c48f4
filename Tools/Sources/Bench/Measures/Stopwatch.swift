/// Times work, and retains its result until the time has been taken, so that the sample excludes the release.
enum Stopwatch {
  static func sample<Kept>(_ work: () throws -> (checksum: UInt64, kept: Kept)) rethrows -> Sample {
    let start = ContinuousClock.now
    let outcome = try work()
    let duration = ContinuousClock.now - start
    return withExtendedLifetime(outcome.kept) { Sample(amount: duration / .seconds(1), checksum: outcome.checksum) }
  }

  static func seconds(_ work: () throws -> Void) rethrows -> Double {
    let start = ContinuousClock.now
    try work()
    return (ContinuousClock.now - start) / .seconds(1)
  }
}
