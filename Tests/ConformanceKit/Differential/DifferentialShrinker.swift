/// Finds a short failing sequence by leaving out steps: halves first, then ever smaller parts.
struct DifferentialShrinker {
  /// The maximal number of attempts to shorten the sequence.
  var attempts = 400
  /// Runs a sequence on fresh stores.
  let mismatch: (DifferentialSequence) throws -> DifferentialMismatch?

  func shrink(
    _ sequence: DifferentialSequence, _ found: DifferentialMismatch
  ) throws -> (DifferentialSequence, DifferentialMismatch) {
    var best = (sequence: sequence, mismatch: found)
    // Steps after the difference cannot cause it.
    if let step = found.step { best.sequence.operations.removeSubrange((step + 1)...) }
    var remaining = attempts
    var size = max(1, best.sequence.operations.count / 2)
    while remaining > 0 {
      let (shorter, didShrink) = try pass(best, size, &remaining)
      best = shorter
      if size == 1, !didShrink { break }
      size = max(1, didShrink && size > 1 ? min(size, best.sequence.operations.count / 2) : size / 2)
    }
    return best
  }

  /// Tries to leave out each part of a size once, from the end on.
  private func pass(
    _ start: (sequence: DifferentialSequence, mismatch: DifferentialMismatch), _ size: Int, _ remaining: inout Int
  ) throws -> ((sequence: DifferentialSequence, mismatch: DifferentialMismatch), Bool) {
    var best = start
    var didShrink = false
    var end = best.sequence.operations.count
    while end > 0, remaining > 0 {
      let begin = max(0, end - size)
      var candidate = best.sequence
      candidate.operations.removeSubrange(begin..<end)
      remaining -= 1
      if let found = try mismatch(candidate) {
        if let step = found.step { candidate.operations.removeSubrange((step + 1)...) }
        best = (candidate, found)
        didShrink = true
      }
      end = min(begin, best.sequence.operations.count)
    }
    return (best, didShrink)
  }
}
