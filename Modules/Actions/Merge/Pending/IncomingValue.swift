import CoherenceCore

/// A value of a merge's input, for the comparison with pending edits.
enum IncomingValue: Equatable {
  case value(AttributeValue)
  /// The reference to a record that the merge inserts, or to a missing record, which differs from every stored value.
  case newRecord

  /// Whether the server had the value before the edit, or has the value from the edit itself.
  func isKnown(to edit: PendingEdit, _ name: String) -> Bool {
    guard case .value(let value) = self else { return false }
    return edit.base[name] == value || edit.ownValues[name]?.contains(value) == true
  }

  /// Whether the server had the value before its reply to the edit.
  func isOutdated(by edit: PendingEdit, _ name: String) -> Bool {
    guard case .value(let value) = self else { return false }
    return edit.outdated[name]?.contains(value) == true
  }
}
