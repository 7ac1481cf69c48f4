/// The parts of a conjunction, separated by the records that they read.
///
/// A part that reads values of the record alone costs no read. Tested first, it spares the reads of related records for
/// the records that it rules out.
struct SplitConjunction: Sendable {
  /// The conjunction of the parts that read values of the record alone.
  private let ownCondition: Condition
  /// The conjunction of the parts that read related records, in their order.
  private let relatedCondition: Condition
  /// The conjunction of all parts, in their order.
  private let wholeCondition: Condition

  /// - Returns: `nil` unless the condition is a conjunction with parts of both kinds.
  init?(_ condition: Condition) {
    guard case .every(let parts) = condition else { return nil }
    let ownParts = parts.filter(\.readsRecordAlone)
    guard !ownParts.isEmpty, ownParts.count < parts.count else { return nil }
    ownCondition = .every(ownParts)
    relatedCondition = .every(parts.filter { !$0.readsRecordAlone })
    wholeCondition = condition
  }

  /// Returns the condition that still decides about a record after a test of the record's own values; `nil` for a
  /// record that these values rule out.
  ///
  /// An error of the test leaves the decision to the whole condition: a false part in front of the failing part keeps
  /// the evaluation from the error.
  func remainder<S: RecordSource>(for record: S.Record, in source: S) -> Condition? {
    do {
      return try ownCondition.holds(for: record, in: source) ? relatedCondition : nil
    } catch {
      return wholeCondition
    }
  }
}

extension Condition {
  /// Whether the condition reads values of the record alone, and no other record.
  fileprivate var readsRecordAlone: Bool {
    switch self {
    case .constant: true
    case .test(let test): test.operand.readsRecordAlone
    case .comparison(let left, _, let right): left.readsRecordAlone && right.readsRecordAlone
    case .between(let operand, let lower, let upper):
      operand.readsRecordAlone && lower.readsRecordAlone && upper.readsRecordAlone
    case .every(let conditions), .some(let conditions): conditions.allSatisfy(\.readsRecordAlone)
    case .not(let condition): condition.readsRecordAlone
    case .members: false
    }
  }
}

extension Operand {
  /// Whether the operand is a value of the record itself.
  var readsRecordAlone: Bool {
    switch self {
    case .constant, .slot, .identity: true
    case .remote(let path, let end): path.steps.isEmpty && path.outerLevel == 0 && end.isOwnValue
    case .filteredCount: false
    case .calculation(let calculation): calculation.readsRecordAlone
    }
  }
}

extension RecordPath.End {
  /// Whether the end is a value of the record at which the path ends, and not of its members.
  fileprivate var isOwnValue: Bool {
    switch self {
    case .slot, .identity: true
    case .count, .aggregate: false
    }
  }
}
