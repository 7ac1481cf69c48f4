import CoherenceCore

/// Objects without a context, as the input of a merge.
final class ObjectInput: MergeInput {
  let objects: [ManagedObject]
  private let layout: MergeLayout
  /// Whether some of the objects are related to other objects. Copies of them would lose these relationships.
  private let areRelated: Bool
  /// The values of inserted objects by index. An object that a rollback has removed from its context has no values any more.
  private var insertedValues: [Int: [AttributeValue?]] = [:]

  /// - Throws: ``ErrorCode/wrongContext`` for an object with a present or former context; ``ErrorCode/wrongType`` for an object
  ///   of another entity; the error of an assignment that an accessor of an object has ignored.
  init(_ objects: [ManagedObject], layout: MergeLayout) throws {
    self.objects = objects
    self.layout = layout
    areRelated = Self.areRelated(objects)
    for object in objects {
      // An object whose context was released has no context either, and cannot be used any more.
      guard object.isUnattached else {
        throw CoherenceError(
          .wrongContext,
          "An object to merge into '\(layout.entity.name)' belongs, or belonged, to a context; make it with "
            + "`init(entity:insertInto: nil)`.")
      }
      guard object.entity.isKind(of: layout.entity) else {
        throw CoherenceError(
          .wrongType, "An object of '\(object.entity.name)' cannot be merged into '\(layout.entity.name)'.")
      }
      if let error = object.lostChange { throw error }
    }
  }

  /// Whether some of the objects are related to other objects without a context.
  static func areRelated(_ objects: [ManagedObject]) -> Bool {
    objects.contains { $0.isUnattached && $0.hasUninsertedGraph }
  }

  var count: Int { objects.count }

  func readKey(_ index: Int, into key: inout [AttributeValue]) throws {
    if let values = insertedValues[index] {
      for (position, field) in layout.keys.enumerated() { key[position] = values[field.slot] ?? .null }
    } else {
      for (position, field) in layout.keys.enumerated() { key[position] = try objects[index].value(at: field.slot) }
    }
  }

  func readValues(_ index: Int, into values: inout [AttributeValue?], isChecked: Bool) throws {
    if let inserted = insertedValues[index] {
      values = inserted
      return
    }
    let object = objects[index]
    let slots = object.entity.slots
    if values.count != slots.count { values = Array(repeating: nil, count: slots.count) }
    for slot in slots.indices {
      // An object without a context has no derived values yet: saves compute them.
      if case .attribute(let attribute) = slots[slot], attribute.derivation == nil {
        values[slot] = try object.value(at: slot)
      } else {
        values[slot] = nil
      }
    }
  }

  func links(_ index: Int) -> [(relationship: RelationshipDescription, link: MergeLink)] { [] }

  func entity(_ index: Int) -> EntityDescription { objects[index].entity }

  func insert(_ index: Int, into context: ActionContext) throws -> ManagedObject {
    if insertedValues[index] != nil { return try insertCopy(index, into: context) }
    var values: [AttributeValue?] = []
    try readValues(index, into: &values, isChecked: false)
    insertedValues[index] = values
    context.insert(objects[index])
    return objects[index]
  }

  /// Inserts a new object instead of an object whose save lost a race to another writer.
  private func insertCopy(_ index: Int, into context: ActionContext) throws -> ManagedObject {
    guard !areRelated else {
      throw CoherenceError(
        .versionConflict,
        "Another writer saved a record of '\(layout.entity.name)' during the merge, and objects with relationships to "
          + "each other cannot be inserted twice; make the objects again and merge them.", isRetryable: true)
    }
    let object = try context.insertNewObject(forEntityName: objects[index].entity.name)
    for (slot, value) in (insertedValues[index] ?? []).enumerated() {
      if let value { try object.setCheckedValue(value, at: slot) }
    }
    return object
  }
}
