package import CoherenceCore

/// A rendered statement: its text, and the values of its parameters in order.
package struct SQLStatement: Sendable {
  package var text: String
  package var bindings: [SQLBinding]
  package init(text: String, bindings: [SQLBinding] = []) {
    self.text = text
    self.bindings = bindings
  }
}

/// The value of a parameter.
package enum SQLBinding: Sendable {
  case value(AttributeValue, StorageType)
  /// Only in dialects that take a list as one array.
  case array([AttributeValue], StorageType)
}

extension SQLFragment {
  /// The statement in a dialect.
  package func rendered(by dialect: some SQLDialect) -> SQLStatement {
    var statement = SQLStatement(text: "")
    for segment in segments {
      switch segment {
      case .text(let text): statement.text += text
      case .name(let name): statement.text += dialect.quoted(name)
      case .value(let value, let storage): statement.bind(.value(value, storage), dialect)
      case .list(let values, let storage): statement.bind(list: values, storage, dialect)
      }
    }
    return statement
  }

  /// The text in a dialect, for fragments without values.
  package func text(in dialect: some SQLDialect) -> String { rendered(by: dialect).text }
}

extension SQLStatement {
  fileprivate mutating func bind(_ binding: SQLBinding, _ dialect: some SQLDialect) {
    bindings.append(binding)
    text += dialect.placeholder(bindings.count)
  }

  /// The right side of a membership: `IN (?, ?)` or `= ANY($1)`.
  fileprivate mutating func bind(list values: [AttributeValue], _ storage: StorageType, _ dialect: some SQLDialect) {
    if dialect.bindsArrays {
      text += "= ANY("
      bind(.array(values, storage), dialect)
    } else {
      text += "IN ("
      for (index, value) in values.enumerated() {
        if index > 0 { text += ", " }
        bind(.value(value, storage), dialect)
      }
    }
    text += ")"
  }
}
