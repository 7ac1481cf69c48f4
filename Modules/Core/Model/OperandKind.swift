import Foundation

/// The kinds of comparable values: values of one kind are comparable.
enum OperandKind: Hashable {
  /// Numbers of all types, compared by value. Constants are converted to the type.
  case number(StorageType)
  case bool, text, data, date, uuid
  /// Objects of a hierarchy, identified by its root.
  case reference(EntityDescription)

  init(_ type: AttributeType) { self.init(type.storage) }

  /// Makes the kind of the values of a representation other than references.
  init(_ storage: StorageType) {
    self =
      switch storage {
      case .int16, .int32, .int64: .number(.int64)
      case .float, .double: .number(.double)
      case .decimal: .number(.decimal)
      case .bool: .bool
      case .string: .text
      case .data: .data
      case .date: .date
      case .uuid: .uuid
      // No attribute and no aggregate has this representation.
      case .reference: .data
      }
  }

  /// The kind of a constant; `nil` for the missing value.
  ///
  /// - Throws: ``ErrorCode/invalidPredicate`` for not-a-number, which has no order.
  init?(_ value: AttributeValue) throws(CoherenceError) {
    switch value {
    case .null: return nil
    case .bool: self = .bool
    case .int: self = .number(.int64)
    case .double(let number) where number.isNaN: throw .notANumber
    case .double: self = .number(.double)
    case .decimal(let number) where number.isNaN: throw .notANumber
    case .decimal: self = .number(.decimal)
    case .string: self = .text
    case .data: self = .data
    case .date: self = .date
    case .uuid: self = .uuid
    case .reference(let id): self = .reference(id.entity)
    }
  }

  func isComparable(with other: OperandKind) -> Bool {
    if case .number = self, case .number = other { return true }
    return self == other
  }

  /// Converts a constant to this kind. If the conversion would lose precision, the constant is returned unchanged. A
  /// double is converted as its shortest decimal number, and the numbers 0 and 1 to false and true.
  func operand(from constant: AttributeValue) -> AttributeValue {
    switch (self, constant) {
    case (.number(.int64), .double(let number)):
      Int64(exactly: number).map(AttributeValue.int) ?? constant
    case (.number(.int64), .decimal(let number)):
      Int64(number.description).map(AttributeValue.int) ?? constant
    case (.number(.double), .int(let number)):
      Double(exactly: number).map(AttributeValue.double) ?? constant
    case (.number(.double), .decimal(let number)):
      Decimal(shortest: number.nearestDouble) == number ? .double(number.nearestDouble) : constant
    case (.number(.decimal), .int(let number)):
      .decimal(Decimal(number))
    case (.number(.decimal), .double(let number)):
      Decimal(shortest: number).map(AttributeValue.decimal) ?? constant
    case (.bool, .int(0)):
      .bool(false)
    case (.bool, .int(1)):
      .bool(true)
    default:
      constant
    }
  }
}

extension OperandKind: CustomStringConvertible {
  var description: String {
    switch self {
    case .number(.decimal): "decimal"
    case .number(.double): "floating-point number"
    case .number: "integer"
    case .bool: "bool"
    case .text: "text"
    case .data: "data"
    case .date: "date"
    case .uuid: "uuid"
    case .reference(let entity): "object of '\(entity.name)'"
    }
  }
}

extension CoherenceError {
  fileprivate static let notANumber = CoherenceError(
    .invalidPredicate, "A constant is not-a-number, or a date out of the range of stores, and cannot be compared.")
}
