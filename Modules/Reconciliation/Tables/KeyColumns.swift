package import CoherenceCore

/// Keys, as one list of values for each key attribute: the form of the predicates by which ``StoredRows`` finds rows.
package struct KeyColumns {
  /// For each key attribute, its values in all keys. All lists have one length.
  package private(set) var columns: [[AttributeValue]]

  /// Makes an empty list of keys.
  package init(width: Int) { columns = Array(repeating: [], count: width) }

  /// Makes a list of keys of one attribute.
  package init(_ column: [AttributeValue]) { columns = [column] }

  package init(_ keys: some Sequence<[AttributeValue]>, width: Int) {
    self.init(width: width)
    for key in keys { append(key) }
  }

  package var count: Int { columns.first?.count ?? 0 }

  package mutating func append(_ key: [AttributeValue]) {
    for (column, value) in key.enumerated() { columns[column].append(value) }
  }

  /// Returns the keys in the order of their values; keys of one attribute in their own order. Neighbours then share
  /// values of the first attributes, so that conditions on the attributes of neighbours match few rows besides. In any
  /// other order they may match all rows.
  func ordered() -> KeyColumns {
    guard columns.count > 1 else { return self }
    let order = (0..<count).sorted { left, right in
      for column in columns {
        let order = column[left].order(to: column[right])
        if order != 0 { return order < 0 }
      }
      return false
    }
    var result = self
    result.columns = columns.map { column in order.map { column[$0] } }
    return result
  }
}

extension [AttributeValue] {
  /// Whether a key lacks a value. Such a key identifies no row.
  package var isIncompleteKey: Bool { contains { $0.isNull } }
}
