import Foundation

/// Random numbers that a seed repeats.
package struct SeededRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number from 0 up to a bound, without the bound.
  package mutating func next(below bound: Int) -> Int { Int(next() % UInt64(bound)) }

  /// Whether an event of a probability happens.
  package mutating func isTrue(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &self) < probability }

  /// The seeds of a run: the seed in `COHERENCE_SEED`, which repeats a run, or random ones. `COHERENCE_SEEDS` is their
  /// number, 4 unless given.
  package static let seeds = {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["COHERENCE_SEED"].flatMap(UInt64.init) { return [seed] }
    let count = environment["COHERENCE_SEEDS"].flatMap(Int.init) ?? 4
    return (0..<max(1, count)).map { _ in UInt64.random(in: 0..<1_000_000) }
  }()
}
