/// Edits of a record that saves of other writers have overtaken: the context has edited a property, and later merged a
/// save that changed the same property.
///
/// The context continues to show its edit, on top of the newer row. The next save of the record is a conflict: the save
/// names the version on which the edit is based, and the store has a later version. The store reports this conflict
/// like every other conflict, so that the merge policy resolves all conflicts in one place.
struct OvertakenEdits {
  /// The version of the row on which the oldest of the edits is based.
  private(set) var version: Int64
  /// The values on which the edits are based, by slot.
  private var origins: [Int: AttributeValue] = [:]

  init(madeOn version: Int64) { self.version = version }

  var isEmpty: Bool { origins.isEmpty }

  /// The value on which the overtaken edit of a slot is based; `nil` for a slot without an overtaken edit.
  subscript(slot: Int) -> AttributeValue? { origins[slot] }

  /// Records that the edit of a slot is overtaken.
  mutating func note(_ slot: Int, madeOn origin: AttributeValue) { origins[slot] = origin }

  /// Records that the edit of a slot, based on a version, is overtaken.
  mutating func note(_ slot: Int, madeOn origin: AttributeValue, version: Int64) {
    note(slot, madeOn: origin)
    self.version = min(self.version, version)
  }

  /// Drops the edit of a slot, because the edit or the save that overtook it was reverted.
  mutating func forget(_ slot: Int) { origins[slot] = nil }

  /// The state on which the edits are based: the common ancestor of the conflict.
  ///
  /// - Parameter base: The newer row below the edits.
  func ancestor(of base: Row) -> Row {
    var values = base.values
    for (slot, value) in origins { values[slot] = value }
    return Row.make(id: base.id, entity: base.entity, version: version, values: values)
  }
}
