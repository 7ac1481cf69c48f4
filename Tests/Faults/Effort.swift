import Foundation
import Testing

/// The effort of the random tests. Settings of the environment:
///
/// - `COHERENCE_FAULTS` multiplies the rounds of each test, 1 unless given; when given, processes and servers are killed
///   too.
/// - `COHERENCE_CRASHES` is the number of faults of the crash loop, 50 unless given.
/// - `COHERENCE_SEED` is the seed that all of them use, random unless given.
enum Effort {
  private static let environment = ProcessInfo.processInfo.environment

  /// For tests that block a thread while they wait for other processes. In parallel with all other tests, they would
  /// use up the threads of the test process.
  static var onRequest: some TestTrait {
    .enabled(if: environment["COHERENCE_FAULTS"] != nil, "Set COHERENCE_FAULTS=1 to kill processes and servers.")
  }

  /// The number of faults that the crash loop injects.
  static let crashes = environment["COHERENCE_CRASHES"].flatMap(Int.init) ?? 50

  static func rounds(_ number: Int) -> Int {
    max(1, number * (environment["COHERENCE_FAULTS"].flatMap(Int.init) ?? 1))
  }

  /// Returns the seed of a test and prints it, so that a later run can repeat the test.
  static func seed(_ test: String = #function) -> UInt64 {
    let seed = environment["COHERENCE_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0..<1 << 40)
    print("COHERENCE_SEED=\(seed) replays: \(test)")
    return seed
  }
}
