import Foundation

/// A calculation of a batch update, resolved for an entity. Its evaluation defines the meaning of ``UpdateExpression``
/// for all stores.
struct BatchCalculation {
  private indirect enum Node {
    case constant(AttributeValue)
    case slot(Int)
    case operation(Operation, Node, Node)
  }
  private enum Operation { case sum, difference, product }
  /// The kinds of operands: all operands of a calculation are of one kind.
  fileprivate enum Kind { case integer, binary, decimal, text }

  private let attribute: AttributeDescription
  private let entity: EntityDescription
  private let kind: Kind
  private let node: Node
  /// Whether the result may be missing.
  private let mayBeMissing: Bool

  /// Resolves an expression for an attribute.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``, ``ErrorCode/wrongType``, and ``ErrorCode/invalidValue`` for a wrong
  ///   expression; ``ErrorCode/limitExceeded`` for an expression with too many levels.
  init(_ expression: UpdateExpression, for attribute: AttributeDescription, of entity: EntityDescription) throws {
    guard let kind = Kind(attribute.type) else {
      throw CoherenceError(
        .wrongType,
        "'\(entity.name).\(attribute.name)' is no number and no text; a batch update calculates numbers and texts only."
      )
    }
    self.attribute = attribute
    self.entity = entity
    self.kind = kind
    var mayBeMissing = false
    node = try Self.node(expression, kind, attribute, entity, depth: 0, &mayBeMissing)
    self.mayBeMissing = mayBeMissing
  }

  private static func node(
    _ expression: UpdateExpression, _ kind: Kind, _ target: AttributeDescription, _ entity: EntityDescription,
    depth: Int, _ mayBeMissing: inout Bool
  ) throws -> Node {
    // The resolution and the evaluation recurse for each level.
    guard depth <= UpdateExpression.greatestDepth else {
      throw CoherenceError(
        .limitExceeded,
        "The calculation of '\(entity.name).\(target.name)' is nested more than \(UpdateExpression.greatestDepth) deep; "
          + "calculate in several updates.")
    }
    func operation(_ operation: Operation, _ left: UpdateExpression, _ right: UpdateExpression) throws -> Node {
      if kind == .text, operation != .sum {
        throw CoherenceError(
          .wrongType, "'\(entity.name).\(target.name)' is a text; texts can be joined by a sum, and nothing else.")
      }
      return .operation(
        operation, try node(left, kind, target, entity, depth: depth + 1, &mayBeMissing),
        try node(right, kind, target, entity, depth: depth + 1, &mayBeMissing))
    }
    switch expression {
    case .value(let value):
      mayBeMissing = mayBeMissing || value.isNull
      do {
        return .constant(try kind.widestType.checked(value))
      } catch {
        throw CoherenceError(
          error.code,
          "A constant of the calculation of '\(entity.name).\(target.name)' does not fit: \(error.message)",
          underlying: error)
      }
    case .attribute(let name):
      guard let source = try entity.property(named: name) as? AttributeDescription, Kind(source.type) == kind else {
        throw CoherenceError(
          .wrongType,
          "'\(entity.name).\(target.name)' cannot be calculated from '\(entity.name).\(name)', whose type differs; "
            + "calculate with attributes of one type.")
      }
      mayBeMissing = mayBeMissing || source.isOptional
      return .slot(source.slot)
    case .sum(let left, let right): return try operation(.sum, left, right)
    case .difference(let left, let right): return try operation(.difference, left, right)
    case .product(let left, let right): return try operation(.product, left, right)
    }
  }

  // MARK: Evaluation

  /// The result for a record.
  ///
  /// - Throws: ``ErrorCode/invalidValue`` for a result out of range; ``ErrorCode/missingValue``.
  func value(for row: Row) throws -> AttributeValue {
    let result = try value(of: node, row)
    guard !result.isNull || attribute.isOptional else {
      throw CoherenceError(
        .missingValue,
        "A batch update would leave '\(entity.name).\(attribute.name)' of a record without a value, because a value of the "
          + "calculation is missing; leave such records out by the condition.")
    }
    do {
      return try attribute.type.checked(result)
    } catch {
      throw outOfRange(error)
    }
  }

  private func value(of node: Node, _ row: Row) throws -> AttributeValue {
    switch node {
    case .constant(let value): return value
    case .slot(let slot): return row[slot]
    case .operation(let operation, let left, let right):
      let (left, right) = (try value(of: left, row), try value(of: right, row))
      if left.isNull || right.isNull { return .null }
      switch (left, right) {
      case (.int(let left), .int(let right)): return .int(try integer(operation, left, right))
      case (.double(let left), .double(let right)): return .double(try number(operation, left, right))
      case (.decimal(let left), .decimal(let right)): return .decimal(try decimal(operation, left, right))
      case (.string(let left), .string(let right)): return .string(left + right)
      default: throw outOfRange(nil)
      }
    }
  }

  private func integer(_ operation: Operation, _ left: Int64, _ right: Int64) throws -> Int64 {
    let (result, overflows) =
      switch operation {
      case .sum: left.addingReportingOverflow(right)
      case .difference: left.subtractingReportingOverflow(right)
      case .product: left.multipliedReportingOverflow(by: right)
      }
    if overflows { throw outOfRange(nil) }
    return result
  }

  private func number(_ operation: Operation, _ left: Double, _ right: Double) throws -> Double {
    let result =
      switch operation {
      case .sum: left + right
      case .difference: left - right
      case .product: left * right
      }
    guard result.isFinite || !result.isNaN && !(left.isFinite && right.isFinite) else { throw outOfRange(nil) }
    return result
  }

  private func decimal(_ operation: Operation, _ left: Decimal, _ right: Decimal) throws -> Decimal {
    let result: Decimal? =
      switch operation {
      case .sum: .sum(left, right)
      case .difference: .difference(left, right)
      case .product: .product(left, right)
      }
    guard let result else { throw outOfRange(nil) }
    return result
  }

  /// The error for a result out of the attribute's range.
  private func outOfRange(_ cause: CoherenceError?) -> CoherenceError {
    var error = SlotArithmetic.overflow(at: attribute.slot, of: entity)
    error.underlying = cause
    return error
  }

  // MARK: In stores

  /// The calculation in the form for a ``BatchCalculating`` store: one operation on an integer attribute and a
  /// constant. `nil` for any other calculation, and where a missing operand would leave a required attribute without a
  /// value: Core evaluates these, and throws for the missing value.
  var arithmetic: SlotArithmetic? {
    guard kind == .integer, let target = attribute.type.integerRange, !mayBeMissing || attribute.isOptional,
      case .operation(let operation, let left, let right) = node
    else { return nil }
    switch (operation, left, right) {
    case (.sum, .slot(let slot), .constant(.int(let number))), (.sum, .constant(.int(let number)), .slot(let slot)):
      return SlotArithmetic(source: slot, operation: .add, operand: number, target: target)
    case (.difference, .slot(let slot), .constant(.int(let number))) where number > .min:
      return SlotArithmetic(source: slot, operation: .add, operand: -number, target: target)
    case (.product, .slot(let slot), .constant(.int(let number))),
      (.product, .constant(.int(let number)), .slot(let slot)):
      return SlotArithmetic(source: slot, operation: .multiply, operand: number, target: target)
    default:
      return nil
    }
  }
}

extension BatchCalculation.Kind {
  /// The kind of an attribute's values; `nil` for types without calculations. An enumeration is no number.
  init?(_ type: AttributeType) {
    switch type {
    case .int16, .int32, .int64: self = .integer
    case .float, .double: self = .binary
    case .decimal: self = .decimal
    case .string: self = .text
    default: return nil
    }
  }

  /// The type of constants and of intermediate results.
  fileprivate var widestType: AttributeType {
    switch self {
    case .integer: .int64
    case .binary: .double
    case .decimal: .decimal
    case .text: .string
    }
  }
}

extension AttributeType {
  /// The values of an integer type.
  fileprivate var integerRange: ClosedRange<Int64>? {
    switch self {
    case .int16: Int64(Int16.min)...Int64(Int16.max)
    case .int32: Int64(Int32.min)...Int64(Int32.max)
    case .int64: .min ... .max
    default: nil
    }
  }
}
