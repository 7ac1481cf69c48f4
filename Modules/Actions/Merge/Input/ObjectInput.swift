import CoherenceCore

/// Objects without a context.
final class ObjectInput: MergeInput {
  let objects: [ManagedObject]
  private let layout: MergeLayout
  /// Whether some of the objects are related to others. Copies would not be.
  private let areRelated: Bool
  /// The values of objects that were inserted, by place: an object that a rollback has taken out again has none.
  private var insertedValues: [Int: [AttributeValue?]] = [:]

  /// - Throws: ``ErrorCode/wrongContext`` for an object that has, or had, a context; ``ErrorCode/wrongType`` for one of
  ///   another entity.
  init(_ objects: [ManagedObject], layout: MergeLayout) throws {
    self.objects = objects
    self.layout = layout
    areRelated = Self.areRelated(objects)
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

  /// Whether some of the objects are related to others that have no context either.
  static func areRelated(_ objects: [ManagedObject]) -> Bool {
    objects.contains { $0.isUnattached && $0.hasCompanions }
  }

  var count: Int { objects.count }

  func readKey(_ place: Int, into key: inout [AttributeValue]) throws {
    if let values = insertedValues[place] {
      for (index, field) in layout.keys.enumerated() { key[index] = values[field.slot] ?? .null }
    } else {
      for (index, field) in layout.keys.enumerated() { key[index] = try objects[place].value(at: field.slot) }
    }
  }

  func readValues(_ place: Int, into values: inout [AttributeValue?], isChecked: Bool) throws {
    if let known = insertedValues[place] {
      values = known
      return
    }
    let object = objects[place]
    let slots = object.entity.slots
    if values.count != slots.count { values = Array(repeating: nil, count: slots.count) }
    for slot in slots.indices {
      if case .attribute = slots[slot] { values[slot] = try object.value(at: slot) } else { values[slot] = nil }
    }
  }

  func links(_ place: Int) -> [(relationship: RelationshipDescription, link: MergeLink)] { [] }

  func entity(_ place: Int) -> EntityDescription { objects[place].entity }

  func insert(_ place: Int, into context: ActionContext) throws -> ManagedObject {
    if insertedValues[place] != nil { return try insertCopy(place, into: context) }
    var values: [AttributeValue?] = []
    try readValues(place, into: &values, isChecked: false)
    insertedValues[place] = values
    context.insert(objects[place])
    return objects[place]
  }

  /// Inserts a fresh object in the place of one whose save lost a race to another writer.
  private func insertCopy(_ place: Int, into context: ActionContext) throws -> ManagedObject {
    guard !areRelated else {
      throw CoherenceError(
        .versionConflict,
        "Another writer was faster to save a record of '\(layout.entity.name)', and the objects of the merge, which are "
          + "related to others, cannot be inserted again; make them anew and merge again.", isRetryable: true)
    }
    let object = try context.insertNewObject(forEntityName: objects[place].entity.name)
    for (slot, value) in (insertedValues[place] ?? []).enumerated() {
      if let value { try object.setCheckedValue(value, at: slot) }
    }
    return object
  }
}
