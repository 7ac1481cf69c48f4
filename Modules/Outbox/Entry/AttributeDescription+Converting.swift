import CoherenceCore

// A migration that gives an attribute another type converts the values of records, and no values of entries and
// conflicts. These are converted when they are read.

extension AttributeDescription {
  /// A recorded value in the attribute's present type.
  ///
  /// A value of another type is converted by the attribute's own rule, or else as a number. A value that cannot be
  /// converted stays as it is, and so does a missing value. Types with one representation, such as a text and an
  /// enumeration of texts, are distinguished only by values that the present type refuses.
  func converted(_ value: AttributeValue) -> AttributeValue {
    guard !value.isNull, !accepts(value) else { return value }
    do {
      if let conversion { return try type.checked(try conversion(value)) }
      return try type.checked(type.storage.number(value))
    } catch {
      return value
    }
  }
}

extension AttributeDescription {
  /// Whether a value is one of the present type.
  private func accepts(_ value: AttributeValue) -> Bool {
    guard type.storage.isStorage(of: value) else { return false }
    // Without a rule, a value of the same representation would stay as it is in any case.
    return conversion == nil || (try? type.checked(value)) != nil
  }
}

extension StorageType {
  /// Whether the representation is that of a value.
  fileprivate func isStorage(of value: AttributeValue) -> Bool {
    switch (self, value) {
    case (.int16, .int), (.int32, .int), (.int64, .int), (.bool, .bool), (.float, .double), (.double, .double): true
    case (.decimal, .decimal), (.string, .string), (.data, .data), (.date, .date), (.uuid, .uuid): true
    case (.reference, .reference): true
    default: false
    }
  }

  /// A truth value as an integer, and an integer or a whole double as the other kind of number, if the representation
  /// asks for it and keeps the number. Any other value stays as it is.
  fileprivate func number(_ value: AttributeValue) -> AttributeValue {
    switch (self, value) {
    case (.int16, .bool(let flag)), (.int32, .bool(let flag)), (.int64, .bool(let flag)): .int(flag ? 1 : 0)
    case (.bool, .int(0)): .bool(false)
    case (.bool, .int(1)): .bool(true)
    case (.int16, .double(let number)), (.int32, .double(let number)), (.int64, .double(let number)):
      Int64(exactly: number).map(AttributeValue.int) ?? value
    default: value
    }
  }
}
