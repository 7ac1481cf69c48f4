import CoherenceCore

/// The result of a differential test.
public struct DifferentialReport: Sendable, CustomStringConvertible {
  public internal(set) var histogram = DifferentialHistogram()
  /// The sequences with different outcomes, each as a text for its replay.
  public internal(set) var failures: [String] = []
  /// The seeds of all sequences on which the stores differed.
  public internal(set) var failedSeeds: [UInt64] = []

  public var description: String {
    let summary =
      failedSeeds.isEmpty ? "" : "\nThe stores differ on: \(failedSeeds.map(String.init).joined(separator: ", "))."
    return "\(histogram)\(summary)"
  }

  mutating func merge(_ other: DifferentialReport) {
    histogram.merge(other.histogram)
    failures += other.failures
    failedSeeds += other.failedSeeds
  }
}

extension DifferentialReport {
  /// The text of a failure.
  static func text(
    seed: UInt64, declarations: [Entity], sequence: DifferentialSequence, mismatch: DifferentialMismatch,
    model: ManagedObjectModel
  ) -> String {
    var lines = [
      "The stores differ on seed \(seed). Replay it with:", "  \(DifferentialTest.replayCommand(seed: seed))",
    ]
    lines += ["Model:"] + DifferentialText.text(declarations).map { "  " + $0 }
    lines += ["Contexts:"] + DifferentialText.text(sequence.contexts).map { "  " + $0 }
    lines += ["Steps:"]
    for (step, operation) in sequence.operations.enumerated() {
      lines.append("  \(step). \(DifferentialText.text(operation, model: model))")
    }
    lines += [mismatch.step.map { "Step \($0) came to:" } ?? "The stores have at the end:"]
    lines += mismatch.outcomes.map { "  \($0.store): \($0.text)" }
    return lines.joined(separator: "\n")
  }
}
