import Foundation

/// The values that a slot accepts without a conversion: a fast path of ``AttributeType/checked(_:)``, which checks all
/// other values.
enum PlainValues: UInt8, Sendable {
  case none, int64, bool, double, string, date, uuid, data

  init(_ slot: Slot) {
    guard case .attribute(let attribute) = slot, attribute.derivation == nil else {
      self = .none
      return
    }
    self =
      switch attribute.type {
      case .int64: .int64
      case .bool: .bool
      case .double: .double
      case .string: .string
      case .date: .date
      case .uuid: .uuid
      case .data: .data
      default: .none
      }
  }

  @inline(__always) func contains(_ value: borrowing AttributeValue) -> Bool {
    switch (self, copy value) {
    case (.none, _): false
    case (_, .null), (.int64, .int), (.bool, .bool), (.date, .date), (.uuid, .uuid), (.data, .data): true
    case (.double, .double(let number)): !number.isNaN
    case (.string, .string(let text)): !text.containsNUL
    default: false
    }
  }
}

extension EntityDescription {
  /// Checks a value for the attribute of a slot and returns it in its stored form.
  ///
  /// - Throws: As ``AttributeType/checked(_:)``; ``ErrorCode/invalidValue`` for a derived attribute.
  package final func checked(_ value: AttributeValue, at slot: Int) throws(CoherenceError) -> AttributeValue {
    if plainValues[slot].contains(value) { return value }
    guard case .attribute(let attribute) = slots[slot] else { return value }
    try attribute.checkIsAssignable()
    return try attribute.type.checked(value)
  }
}
