/// Runs the sides of a measure in turns, so that a disturbance of the machine affects all of them.
struct Race {
  let rounds: Int
  /// Called before each run, with the round and the side.
  var progress: (Int, Side) -> Void = { _, _ in }

  func run(_ measure: Measure) throws -> [[Double]] {
    var amounts = [[Double]](repeating: [], count: measure.sides.count)
    var checksum: UInt64?
    for round in 0..<rounds {
      for turn in measure.sides.indices {
        let index = (turn + round) % measure.sides.count
        let side = measure.sides[index]
        progress(round, side)
        let sample = try side.run()
        if let known = checksum, let found = sample.checksum, known != found {
          throw BenchError("\(measure.name): '\(side.name)' read or wrote other values than the side before it.")
        }
        checksum = checksum ?? sample.checksum
        amounts[index].append(sample.amount)
      }
    }
    return amounts
  }
}
