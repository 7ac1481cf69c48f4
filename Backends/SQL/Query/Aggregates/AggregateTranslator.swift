import CoherenceCore
import Foundation

/// Translates aggregates of operands into SQL.
struct AggregateTranslator {
  let dialect: any SQLDialect

  /// An aggregate of a group of records; `nil` where the engine does not compute it as Core does.
  ///
  /// - Parameter operand: The value that takes part; `nil` for the record itself.
  func groupAggregate(_ function: AggregateFunction, of operand: QueryOperand?) -> QueryOperand? {
    guard let operand else { return QueryOperand(sql: "COUNT(*)", storage: .int64, isNullable: false) }
    guard let storage = function.result(for: operand.storage) else { return nil }
    switch function {
    case .count: return QueryOperand(sql: "COUNT(\(operand.sql))", storage: storage, isNullable: false)
    case .countDistinct:
      return QueryOperand(sql: "COUNT(DISTINCT \(operand.sql))", storage: storage, isNullable: false)
    case .minimum, .maximum: return extreme(operand, isMaximum: function == .maximum)
    case .sum: return sum(operand, as: storage, neverFails: false)
    case .average: return nil
    }
  }

  /// An aggregate of members that conditions and orders compare; `nil` where the engine does not compute it as the
  /// evaluator does: sums of floating-point numbers depend on the order of the members.
  func memberAggregate(_ function: AggregateFunction, of operand: QueryOperand) -> QueryOperand? {
    let isFloat = operand.storage == .float || operand.storage == .double
    guard function == .sum || function == .average else { return groupAggregate(function, of: operand) }
    guard !isFloat, let storage = function.result(for: operand.storage) else { return nil }
    if function == .sum { return sum(operand, as: storage, neverFails: true) }
    return average(operand, neverFails: true)
  }

  /// The average of a group of records, for conditions and orders; `nil` for decimals, whose quotients engines round
  /// differently.
  func average(_ operand: QueryOperand, neverFails: Bool = false) -> QueryOperand? {
    guard AggregateFunction.average.result(for: operand.storage) == .double else { return nil }
    let sum = dialect.nearestDouble(dialect.sum(operand.sql, of: operand.storage, neverFails: neverFails))
    let average = dialect.average(ofSum: sum, count: "COUNT(\(operand.sql))", of: operand.storage)
    return QueryOperand(sql: "(\(average))", storage: .double)
  }

  private func extreme(_ operand: QueryOperand, isMaximum: Bool) -> QueryOperand {
    let sql = dialect.extreme(operand.sql, of: operand.storage, isMaximum: isMaximum)
    return QueryOperand(
      sql: dialect.collated(sql, as: operand.storage), storage: operand.storage,
      mayBeOutOfRange: operand.mayBeOutOfRange)
  }

  /// A sum, zero without values.
  private func sum(_ operand: QueryOperand, as storage: StorageType, neverFails: Bool) -> QueryOperand {
    let sum = dialect.sum(operand.sql, of: operand.storage, neverFails: neverFails)
    let zero = dialect.constant(
      storage == .decimal ? .decimal(0) : storage == .double ? .double(0) : .int(0), as: storage)
    guard storage == .double else {
      let sql = dialect.collated("COALESCE(\(sum), \(zero ?? "0"))", as: storage)
      return QueryOperand(sql: sql, storage: storage, isNullable: false, mayBeOutOfRange: true)
    }
    // Infinities of both signs have no sum, which is null; no values have the sum zero.
    return QueryOperand(
      sql: "CASE WHEN COUNT(\(operand.sql)) = 0 THEN \(zero ?? "0") ELSE \(sum) END", storage: storage)
  }
}
