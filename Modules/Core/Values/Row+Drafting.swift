// A row that one owner is still working on: the values of a changed object, which become the saved row.

extension Row {
  /// A row of its own with the same values.
  init(draftOf row: Row) {
    self = Row.make(id: row.id, entity: row.entity, version: row.version) { writer in
      for slot in 0..<row.count { writer.append(row.storage.values[slot]) }
    }
  }

  /// Makes the buffer this row's alone. A buffer in its space's table is never: others may take a reference there.
  @inline(__always) private mutating func own() {
    if storage.content.pointee.isShared || !isKnownUniquelyReferenced(&storage) { self = Row(draftOf: self) }
  }

  /// Writes a slot. Others who hold the row see nothing of it.
  @inline(__always) mutating func set(_ value: consuming AttributeValue, at slot: Int) {
    own()
    Misuse.check(slot >= 0 && slot < count, "The row has no such slot.")
    storage.values[slot] = value
  }

  /// Gives the row its identity and version in the store. Others who hold the row see nothing of it.
  mutating func seal(id: ManagedObjectID, version: Int64) {
    guard self.id != id || self.version != version else { return }
    own()
    storage.content.pointee.id = id
    storage.content.pointee.version = version
  }

  /// Whether a slot has no value.
  @inline(__always) func isNull(at slot: Int) -> Bool {
    withExtendedLifetime(storage) { storage.values[slot].isNull }
  }
}
