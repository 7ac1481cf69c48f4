/// Checks the values of a row of a batch insert, and adds defaults and derived values.
struct BatchRowCheck {
  private let entity: EntityDescription
  private let slots: [Int]
  private let store: StoreIdentifier
  private let coordinator: PersistentStoreCoordinator
  private let derivedValues: DerivedValues
  private let defaults: [AttributeValue]
  /// Returns the permanent identifier for a former temporary identifier.
  private let current: (ManagedObjectID) -> ManagedObjectID

  /// - Parameters:
  ///   - slots: The slot of each given value.
  ///   - current: Returns the permanent identifier for the former temporary identifier of a saved object, and any other
  ///     identifier unchanged.
  init(
    of entity: EntityDescription, slots: [Int], in store: StoreIdentifier, of coordinator: PersistentStoreCoordinator,
    _ derivedValues: DerivedValues, current: @escaping (ManagedObjectID) -> ManagedObjectID
  ) {
    self.entity = entity
    self.slots = slots
    self.store = store
    self.coordinator = coordinator
    self.derivedValues = derivedValues
    defaults = entity.defaultValues
    self.current = current
  }

  /// Checks the given values of a row, and returns the values of all slots.
  ///
  /// - Throws: ``ErrorCode/wrongType``, ``ErrorCode/invalidValue``, ``ErrorCode/missingValue``,
  ///   ``ErrorCode/relationshipCrossesStores``; ``ErrorCode/storeDetached`` for a record of a detached store.
  func values(_ given: [AttributeValue?]) throws -> [AttributeValue] {
    var values = defaults
    for (index, value) in given.enumerated() {
      guard let value else { continue }
      let slot = slots[index]
      // Plain values fit the type of the slot without a check.
      values[slot] = entity.plainValues[slot].contains(value) ? value : try checked(value, at: slot)
    }
    derivedValues.derive(&values, of: entity)
    for slot in entity.checked.required where values[slot].isNull {
      throw CoherenceError(
        .missingValue,
        "A row of a batch insert gives '\(entity.name).\(entity.slots[slot].name)' no value, which it needs.")
    }
    return values
  }

  private func checked(_ value: AttributeValue, at slot: Int) throws(CoherenceError) -> AttributeValue {
    if value.isNull { return value }
    let name = "'\(entity.name).\(entity.slots[slot].name)'"
    switch (entity.slots[slot], value) {
    case (.attribute(let attribute), _):
      do {
        return try attribute.type.checked(value)
      } catch {
        throw CoherenceError(
          error.code, "A value of a batch insert does not fit \(name): \(error.message)", underlying: error)
      }
    case (.reference(let relationship), .reference(let id)):
      let target = current(id)
      guard target.entity.root === relationship.destination.root, !target.isTemporaryID else {
        throw CoherenceError(
          .wrongType,
          "A row of a batch insert gives \(name) an identifier of no saved record of '\(relationship.destination.name)'."
        )
      }
      guard target.storeIdentifier == store else {
        _ = try coordinator.store(of: target)
        throw CoherenceError(
          .relationshipCrossesStores,
          "A row of a batch insert leads by \(name) into another store; keep both records in one store.")
      }
      return .reference(target)
    case (.reference, _), (.position, _):
      throw CoherenceError(
        .wrongType, "\(name) takes the identifier of a record, not a value of type \(value.typeName).")
    }
  }
}

extension EntityDescription {
  /// The slot of a property that a batch insert may give.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``; ``ErrorCode/wrongType`` for a to-many and for a one-to-one relationship;
  ///   ``ErrorCode/invalidValue`` for a derived attribute.
  func slotForInsert(named name: String) throws(CoherenceError) -> Int {
    let property = try property(named: name)
    if let attribute = property as? AttributeDescription {
      try attribute.checkIsAssignable()
      return attribute.slot
    }
    guard let relationship = property as? RelationshipDescription, let slot = relationship.slot else {
      throw CoherenceError(
        .wrongType,
        "'\(self.name).\(name)' is a to-many relationship; a batch insert sets attributes and to-one relationships.")
    }
    guard relationship.inverse?.isToMany != false else {
      throw CoherenceError(
        .wrongType,
        "'\(self.name).\(name)' is a one-to-one relationship, and a batch insert does not change the record on the other "
          + "side; insert the records as objects.")
    }
    return slot
  }
}
