import CoherenceCore
import Foundation

/// A side of a comparison that the engine computes for each record.
struct QueryOperand {
  var sql: SQLFragment
  var storage: StorageType
  /// The hierarchy of the keys of a reference; `nil` for another operand.
  var root: EntityDescription?
  var isNullable = true
  /// Whether the engine may return a number that is out of the range of the type: for a sum, which conditions compare.
  var mayBeOutOfRange = false
}

extension QueryOperand {
  /// The operand with another value of the same type; `nil` without one.
  func replacing(_ sql: SQLFragment?) -> QueryOperand? {
    guard let sql else { return nil }
    var operand = self
    operand.sql = sql
    return operand
  }

  /// A constant in the type in which the engine compares it with the operand.
  enum Constant {
    case value(AttributeValue, StorageType)
    /// No record can have the value: an object of another store, or an unsaved object.
    case unreachable
  }

  /// Returns a constant that the engine compares with the operand exactly as the evaluator does; `nil` if the engine
  /// has no such comparison, so that Core evaluates the condition.
  func constant(_ value: AttributeValue, spaces: IDSpaces) -> Constant? {
    switch (storage, value) {
    case (.int16, .int), (.int32, .int), (.int64, .int):
      return .value(value, .int64)
    case (.bool, .bool), (.date, .date), (.uuid, .uuid), (.data, .data):
      return .value(value, storage)
    case (.string, .string(let text)):
      return text.utf8.contains(0) ? nil : .value(value, .string)
    case (.float, .double(let number)), (.double, .double(let number)):
      return number.isNaN ? nil : .value(value, .double)
    case (.decimal, .decimal(let number)):
      return number.isNaN ? nil : .value(value, .decimal)
    case (.reference, .reference(let id)):
      guard let root else { return nil }
      return id.space === spaces[root] ? .value(.int(id.key), .int64) : .unreachable
    default:
      return nil
    }
  }
}
