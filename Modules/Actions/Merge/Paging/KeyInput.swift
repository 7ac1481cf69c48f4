import CoherenceCore

/// Records that say their keys and nothing else.
struct KeyInput: MergeInput {
  let keys: [MergeKey]
  private let layout: MergeLayout

  init(_ keys: [MergeKey], layout: MergeLayout) {
    self.keys = keys
    self.layout = layout
  }

  var count: Int { keys.count }

  func readKey(_ place: Int, into key: inout [AttributeValue]) { key = keys[place].values }

  func readValues(_ place: Int, into values: inout [AttributeValue?], isChecked: Bool) {
    let slotCount = layout.entity.slotCount
    if values.count != slotCount { values = Array(repeating: nil, count: slotCount) }
    for slot in 0..<slotCount { values[slot] = nil }
  }

  func links(_ place: Int) -> [(relationship: RelationshipDescription, link: MergeLink)] { [] }

  func entity(_ place: Int) -> EntityDescription { layout.entity }

  func insert(_ place: Int, into context: ActionContext) throws -> ManagedObject {
    let object = try context.insertNewObject(forEntityName: layout.entity.name)
    for (field, value) in zip(layout.keys, keys[place].values) { try object.setCheckedValue(value, at: field.slot) }
    return object
  }
}
