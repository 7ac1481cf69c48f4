// Drafts: mutable rows with a single owner. The draft of a changed object becomes its saved row.

extension Row {
  /// Makes a draft with a buffer of its own and the values of a row.
  init(draftOf row: Row) {
    self = Row.make(id: row.id, entity: row.entity, version: row.version) { writer in
      for slot in 0..<row.count { writer.append(row.storage.values[slot]) }
    }
  }

  /// Copies the buffer unless this row has the only reference. A buffer in the table of its space is always copied,
  /// because other threads may take a reference from the table.
  @inline(__always) private mutating func own() {
    if storage.content.pointee.isShared || !isKnownUniquelyReferenced(&storage) { self = Row(draftOf: self) }
  }

  /// Writes a slot. Other references to the row do not see the change.
  @inline(__always) mutating func set(_ value: consuming AttributeValue, at slot: Int) {
    address(at: slot).pointee = value
  }

  /// The address of a slot in a buffer that only this row refers to. Valid until the row changes.
  @inline(__always) mutating func address(at slot: Int) -> UnsafeMutablePointer<AttributeValue> {
    own()
    return withExtendedLifetime(storage) {
      Misuse.check(
        slot >= 0 && slot < Int(storage.content.pointee.count),
        "The row has no such slot. A store returns rows of the requested entity and its subentities only.")
      return storage.values + slot
    }
  }

  /// Sets the row's identifier and version in the store. Other references to the row do not see the change.
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
