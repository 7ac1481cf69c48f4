/// A store that computes new values of a batch update from the present values, without returning rows.
///
/// For a store without the refinement, and for other calculations, Core reads the records, computes, and saves the
/// changes.
public protocol BatchCalculating: BatchExecuting {
  /// Changes the records that satisfy the query's predicate, raising their versions, in one transaction. All operands
  /// are the values from before the change.
  ///
  /// - Parameters:
  ///   - values: The constant new value of each slot. The slots are of `query.entity`.
  ///   - arithmetic: The calculation of each further slot.
  /// - Returns: The identifiers of the changed records, or `nil`, with nothing changed, when the store cannot translate
  ///   the predicate exactly or cannot execute the update at once, or when a record takes unique values that another
  ///   record has before or after the change.
  /// - Throws: ``SlotArithmetic/overflow(at:of:)``, with nothing changed, when a record's value is out of the range of
  ///   a calculation.
  func batchUpdate(
    _ query: StoreQuery, values: [Int: AttributeValue], arithmetic: [Int: SlotArithmetic]
  ) throws -> [ManagedObjectID]?
}

extension BatchCalculating {
  /// Changes the records without calculations.
  public func batchUpdate(_ query: StoreQuery, values: [Int: AttributeValue]) throws -> [ManagedObjectID]? {
    try batchUpdate(query, values: values, arithmetic: [:])
  }
}

/// A calculation with one integer of a row and a constant. A missing integer makes the result missing.
public struct SlotArithmetic: Sendable, Hashable {
  /// The kind of a calculation.
  public enum Operation: Sendable, Hashable {
    /// The constant is added.
    case add
    /// The integer is multiplied by the constant.
    case multiply
  }

  /// The slot of the integer, of any integer type.
  public let source: Int
  /// The kind of the calculation.
  public let operation: Operation
  /// The constant.
  public let operand: Int64
  /// The integers whose results are in the range of the attribute.
  public let range: ClosedRange<Int64>

  /// Makes a calculation.
  ///
  /// - Parameter target: The range of the attribute that receives the result.
  public init(source: Int, operation: Operation, operand: Int64, target: ClosedRange<Int64>) {
    self.source = source
    self.operation = operation
    self.operand = operand
    range =
      switch operation {
      case .add: Self.saturating(target.lowerBound, minus: operand)...Self.saturating(target.upperBound, minus: operand)
      case .multiply: Self.factors(of: operand, within: target)
      }
  }

  /// Returns the result for a value of the slot; `nil` for a value out of the range. The result for a missing value is
  /// missing.
  public func result(for value: AttributeValue) -> AttributeValue? {
    guard case .int(let number) = value else { return .null }
    guard range.contains(number) else { return nil }
    return .int(operation == .add ? number + operand : number * operand)
  }

  /// Returns the error for a record whose value is out of the range.
  ///
  /// - Parameters:
  ///   - slot: The slot that receives the result.
  ///   - entity: The updated entity.
  public static func overflow(at slot: Int, of entity: EntityDescription) -> CoherenceError {
    CoherenceError(
      .invalidValue,
      "A batch update would make '\(entity.name).\(entity.slots[slot].name)' of a record too large or too small for its "
        + "type; narrow the condition, or give the attribute a wider type.")
  }

  private static func saturating(_ bound: Int64, minus number: Int64) -> Int64 {
    let (result, overflows) = bound.subtractingReportingOverflow(number)
    return overflows ? (number < 0 ? .max : .min) : result
  }

  /// The integers whose products with a factor are in a range that contains zero.
  private static func factors(of factor: Int64, within range: ClosedRange<Int64>) -> ClosedRange<Int64> {
    // Division truncates towards zero, and zero is in the range, so that both quotients are the outermost factors.
    if factor == 0 { return .min ... .max }
    if factor > 0 { return (range.lowerBound / factor)...(range.upperBound / factor) }
    let (greatest, overflows) = range.lowerBound.dividedReportingOverflow(by: factor)
    return (range.upperBound / factor)...(overflows ? .max : greatest)
  }
}
