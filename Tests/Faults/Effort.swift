import Foundation

/// How much the random tests do. Settings of the environment:
///
/// - `COHERENCE_FAULTS` multiplies the rounds of each test, 1 unless given.
/// - `COHERENCE_SEED` is the seed that all of them use, random unless given.
enum Effort {
  private static let environment = ProcessInfo.processInfo.environment

  static func rounds(_ number: Int) -> Int {
    max(1, number * (environment["COHERENCE_FAULTS"].flatMap(Int.init) ?? 1))
  }

  /// The seed of a test, which prints it to be run again with.
  static func seed(_ test: String = #function) -> UInt64 {
    let seed = environment["COHERENCE_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0..<1 << 40)
    print("COHERENCE_SEED=\(seed) replays: \(test)")
    return seed
  }
}
