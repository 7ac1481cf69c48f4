import CoherenceCore

/// The counts of steps and of their outcomes.
public struct DifferentialHistogram: Sendable, CustomStringConvertible {
  public private(set) var operations: [String: Int] = [:]
  public private(set) var codes: [String: Int] = [:]
  public private(set) var sequences = 0
  /// The number of steps with a permitted difference: a store reported a dangling reference, and the reference store a
  /// violated uniqueness.
  public private(set) var excused = 0

  /// - Parameter outcomes: The outcomes of the step on each store, of the reference store first.
  mutating func note(_ operation: DifferentialOperation, _ outcomes: [DifferentialOutcome]) {
    operations[operation.action.kind, default: 0] += 1
    for code in outcomes[0].codes { codes[code.rawValue, default: 0] += 1 }
    if outcomes.contains(where: { $0.isExcused(besides: outcomes[0]) }) { excused += 1 }
  }

  mutating func noteSequence() { sequences += 1 }

  mutating func merge(_ other: DifferentialHistogram) {
    operations.merge(other.operations, uniquingKeysWith: +)
    codes.merge(other.codes, uniquingKeysWith: +)
    sequences += other.sequences
    excused += other.excused
  }

  /// The errors that must occur in random sequences. Otherwise the sequences do not vary enough.
  static let expectedCodes: [ErrorCode] = [
    .validationFailed, .missingValue, .deleteDenied, .versionConflict, .uniquenessViolated, .objectNotFound,
    .objectDeleted, .wrongType, .invalidValue, .invalidPredicate, .unknownProperty,
  ]

  /// The steps and errors that occurred too rarely for a result about them, and the excuses if they are too many.
  public var gaps: [String] {
    let steps = DifferentialOperation.Action.kinds.filter { (operations[$0] ?? 0) * 8 < sequences }
    // Expects each code once in fifty sequences, less three standard deviations, because a short run may miss a code by
    // chance.
    let expected = Double(sequences) / 50
    let least = expected - 3 * expected.squareRoot()
    let rare = Self.expectedCodes.map(\.rawValue).filter { Double(codes[$0] ?? 0) < least }
    // A high share of excuses would hide a store that confuses the two errors.
    let excuses = excused * 10 > (codes[ErrorCode.uniquenessViolated.rawValue] ?? 0) ? ["\(excused) excuses"] : []
    return steps + rare + excuses
  }

  public var description: String {
    func lines(_ counts: [String: Int]) -> String {
      counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }
    return "\(sequences) sequences.\nSteps: \(lines(operations)).\nErrors: \(lines(codes)); \(excused) excused."
  }
}
