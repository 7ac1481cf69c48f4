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
      guard Self.isUnattached(object) else {
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

  /// Whether the object never had a context. One whose context is gone has none either, but cannot be used any more.
  private static func isUnattached(_ object: ManagedObject) -> Bool {
    object.managedObjectContext == nil && !object.isInserted && !object.isFault && object.version == 0
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
