/// Edits of a record that saves of other writers have overtaken: the context has edited a property, and a save that the
/// context has processed since has changed the same property.
///
/// The context continues to show its edit, on top of the newer row. The next save of the record is a conflict: the save
/// names the version that the edit is based on, which the store no longer has. The store reports this conflict like
/// every other conflict, so that the merge policy resolves all conflicts in one place.
struct OvertakenEdits {
  /// The version of the row that the oldest of the edits is based on.
  private(set) var version: Int64
  /// The values that the edits are based on, by slot.
  private var origins: [Int: AttributeValue] = [:]

  init(madeOn version: Int64) { self.version = version }

  var isEmpty: Bool { origins.isEmpty }

  /// The value that the overtaken edit of a slot is based on; `nil` for a slot without one.
  subscript(slot: Int) -> AttributeValue? { origins[slot] }

  /// Notes that the edit of a slot is overtaken.
  mutating func note(_ slot: Int, madeOn origin: AttributeValue) { origins[slot] = origin }

  /// Notes that the edit of a slot, made on the version given, is overtaken.
  mutating func note(_ slot: Int, madeOn origin: AttributeValue, version: Int64) {
    note(slot, madeOn: origin)
    self.version = min(self.version, version)
  }

  /// Drops the edit of a slot, because the edit or the save that overtook it was reverted.
  mutating func forget(_ slot: Int) { origins[slot] = nil }

  /// The state that the edits are based on: the common ancestor of the conflict.
  ///
  /// - Parameter base: The newer row that the edits are on top of now.
  func ancestor(of base: Row) -> Row {
    var values = base.values
    for (slot, value) in origins { values[slot] = value }
    return Row.make(id: base.id, entity: base.entity, version: version, values: values)
  }
}
