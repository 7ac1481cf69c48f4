import CoherenceCore

/// Keys without values, as the input of the deletion after a paged merge.
struct KeyInput: MergeInput {
  let keys: [MergeKey]
  private let layout: MergeLayout

  init(_ keys: [MergeKey], layout: MergeLayout) {
    self.keys = keys
    self.layout = layout
  }

  var count: Int { keys.count }

  func readKey(_ index: Int, into key: inout [AttributeValue]) { key = keys[index].values }

  func readValues(_ index: Int, into values: inout [AttributeValue?], isChecked: Bool) {
    let slotCount = layout.entity.slotCount
    if values.count != slotCount { values = Array(repeating: nil, count: slotCount) }
    for slot in 0..<slotCount { values[slot] = nil }
  }

  func links(_ index: Int) -> [(relationship: RelationshipDescription, link: MergeLink)] { [] }

  func entity(_ index: Int) -> EntityDescription { layout.entity }

  /// Required by ``MergeInput``. The deletion plans no inserts and does not call it.
  func insert(_ index: Int, into context: ActionContext) throws -> ManagedObject {
    let object = try context.insertNewObject(forEntityName: layout.entity.name)
    for (field, value) in zip(layout.keys, keys[index].values) { try object.setCheckedValue(value, at: field.slot) }
    return object
  }
}
