extension Row {
  /// Returns the row with another identifier of its record.
  func renamed(to id: ManagedObjectID) -> Row {
    var row = self
    row.seal(id: id, version: version)
    return row
  }

  /// Returns the next version of the row, with some values replaced.
  ///
  /// - Parameter values: The new value of each slot.
  package func revised(setting values: [Int: AttributeValue]) -> Row {
    Row.make(id: id, entity: entity, version: version &+ 1) { writer in
      for slot in 0..<count { writer.append(values[slot] ?? self[slot]) }
    }
  }
}
