import CoherenceCore

/// Objects without a context.
struct ObjectInput: MergeInput {
  let objects: [ManagedObject]
  private let layout: MergeLayout

  /// - Throws: ``ErrorCode/wrongContext`` for an object that has, or had, a context; ``ErrorCode/wrongType`` for one of
  ///   another entity.
  init(_ objects: [ManagedObject], layout: MergeLayout) throws {
    self.objects = objects
    self.layout = layout
    for object in objects {
      // One whose context is gone has none either, but cannot be used any more.
      guard object.isUnattached else {
        throw CoherenceError(
          .wrongContext,
          "An object to merge belongs, or belonged, to a context; make it with `init(entity:insertInto: nil)`.")
      }
      guard object.entity.isKind(of: layout.entity) else {
        throw CoherenceError(
          .wrongType, "An object of '\(object.entity.name)' cannot be merged into '\(layout.entity.name)'.")
      }
    }
  }

  var count: Int { objects.count }

  func readKey(_ place: Int, into key: inout [AttributeValue]) throws {
    for (index, field) in layout.keys.enumerated() { key[index] = try objects[place].value(at: field.slot) }
  }

  func readValues(_ place: Int, into values: inout [AttributeValue?], isChecked: Bool) throws {
    let object = objects[place]
    let slots = object.entity.slots
    if values.count != slots.count { values = Array(repeating: nil, count: slots.count) }
    for slot in slots.indices {
      if case .attribute = slots[slot] { values[slot] = try object.value(at: slot) } else { values[slot] = nil }
    }
  }

  func links(_ place: Int) -> [(relationship: RelationshipDescription, link: MergeLink)] { [] }

  func entity(_ place: Int) -> EntityDescription { objects[place].entity }

  func insert(_ place: Int, into context: ActionContext) -> ManagedObject {
    context.insert(objects[place])
    return objects[place]
  }
}
