import Synchronization

/// The slots of a snapshot type's values in the rows of an entity. Made once for each type and entity.
@usableFromInline final class SnapshotLayout: Sendable {
  /// The slots to read: the identifier's, followed by those of the fields.
  let slots: [Int]
  /// The model's default of each slot; null for the identifier and for targets.
  let defaults: [AttributeValue]
  /// The names of the slots' properties, for errors.
  let names: [String]
  /// The number of parts of each composite, in the order of the fields.
  let partCounts: [Int]
  let entity: EntityDescription

  private init(_ fields: [SnapshotField], of entity: EntityDescription) throws(CoherenceError) {
    var slots = [Row.identifierSlot]
    var names = ["objectID"]
    var partCounts: [Int] = []
    for field in fields {
      let fieldSlots = try field.slots(entity)
      if field.isComposite { partCounts.append(fieldSlots.count) }
      slots += fieldSlots
      names += fieldSlots.map { _ in field.name }
    }
    self.entity = entity
    self.slots = slots
    self.names = names
    self.partCounts = partCounts
    defaults = slots.map { $0 == Row.identifierSlot ? .null : entity.defaultValues[$0] }
  }

  private struct Key: Hashable {
    let type: ObjectIdentifier
    let entity: ObjectIdentifier
  }
  /// Layouts live as long as the process, as entities do.
  private static let layouts = Mutex<[Key: SnapshotLayout]>([:])

  /// The layout of a snapshot type in the rows of an entity.
  ///
  /// - Throws: ``ErrorCode/snapshotMismatch`` when the entity's objects are not of the snapshot's class;
  ///   ``ErrorCode/unknownProperty``; ``ErrorCode/wrongType``.
  static func of<S: EntitySnapshot>(
    _ type: S.Type, in entity: EntityDescription
  ) throws(CoherenceError) -> SnapshotLayout {
    let key = Key(type: ObjectIdentifier(type), entity: ObjectIdentifier(entity))
    if let layout = layouts.withLock({ $0[key] }) { return layout }
    guard entity.objectClass is S.Object.Type else {
      throw CoherenceError(
        .snapshotMismatch,
        "A snapshot of '\(S.Object.self)' cannot have the values of a record of '\(entity.name)'; "
          + "use the snapshot type of the entity or of a parent entity.")
    }
    let layout = try SnapshotLayout(type.fields, of: entity)
    // The first of two threads makes the layout that stays: readers do not retain layouts.
    return layouts.withLock { layouts in
      if let other = layouts[key] { return other }
      layouts[key] = layout
      return layout
    }
  }
}
