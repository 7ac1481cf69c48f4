/// The changes that a snapshot makes to an object. All are checked before the first is made, so that an invalid value
/// or a missing target leaves the object unchanged.
struct SnapshotChanges {
  private let entity: EntityDescription
  private let context: ManagedObjectContext?
  private let store: StoreIdentifier?
  /// The attributes to write, with values in their stored form.
  private(set) var values: [(slot: Int, value: AttributeValue)] = []
  /// The to-one relationships to write; the target is `nil` for no target.
  private(set) var targets: [(relationship: RelationshipDescription, target: ManagedObject?)] = []

  /// Makes a list without changes.
  ///
  /// - Parameters:
  ///   - entity: The entity of the object.
  ///   - context: The context of the object, in which targets are looked up; `nil` for an object without a context.
  ///   - store: The store of the object; `nil` for an object without a store.
  init(_ entity: EntityDescription, in context: ManagedObjectContext?, store: StoreIdentifier?) {
    self.entity = entity
    self.context = context
    self.store = store
  }

  /// Checks the snapshot's value of a slot, and adds it. Looks up the target of a reference.
  ///
  /// - Throws: As ``ManagedObject/apply(_:)`` for values and targets.
  mutating func add(_ value: AttributeValue, at slot: Int) throws {
    switch entity.slots[slot] {
    // Saves compute derived values.
    case .attribute(let attribute) where attribute.derivation != nil: break
    case .attribute(let attribute): values.append((slot, try attribute.checkedForSnapshot(value)))
    case .reference(let relationship): targets.append((relationship, try target(value, of: relationship)))
    // A position belongs to the owner's list, and changes with the list.
    case .position: break
    }
  }

  /// Returns the object with the identifier that the snapshot has for a to-one relationship; `nil` for null.
  private func target(_ value: AttributeValue, of relationship: RelationshipDescription) throws -> ManagedObject? {
    guard case .reference(let id) = value else { return nil }
    let name = "\(entity.name).\(relationship.name)"
    guard let context else {
      throw CoherenceError(
        .wrongContext, "'\(name)' cannot be set by identifier in an object without a context; insert the object first.")
    }
    guard id.entity.root === relationship.destination.root else {
      throw CoherenceError(
        .wrongType,
        "'\(name)' leads to '\(relationship.destination.name)', and the snapshot has the identifier of a record of "
          + "'\(id.entity.name)'.")
    }
    let target = try context.existingObject(with: id)
    guard target.entity.isKind(of: relationship.destination) else {
      throw CoherenceError(
        .wrongType, "'\(name)' leads to '\(relationship.destination.name)', not to '\(target.entity.name)'.")
    }
    if let own = store, let other = target.storeIdentifier, own != other {
      throw CoherenceError(
        .relationshipCrossesStores, "'\(name)' would lead from one store into another; keep both in one store.")
    }
    return target
  }
}

extension AttributeDescription {
  /// The value in its stored form.
  ///
  /// - Throws: ``ErrorCode/wrongType`` and ``ErrorCode/invalidValue``, with the attribute's name.
  fileprivate func checkedForSnapshot(_ value: AttributeValue) throws(CoherenceError) -> AttributeValue {
    do {
      return try type.checked(value)
    } catch {
      var error = error
      error.message = "'\(entity.name).\(name)' in a snapshot: \(error.message)"
      throw error
    }
  }
}
