/// Checks the values of a record that a participant adds against the rules of the model.
struct AddedRecordCheck {
  private let entity: EntityDescription
  private let store: StoreIdentifier
  private let coordinator: PersistentStoreCoordinator

  init(of entity: EntityDescription, in store: StoreIdentifier, of coordinator: PersistentStoreCoordinator) {
    self.entity = entity
    self.store = store
    self.coordinator = coordinator
  }

  /// Returns the values as a store keeps them, with the values of derived attributes.
  ///
  /// - Throws: ``ErrorCode/invalidValue`` for a wrong number of values; ``ErrorCode/validationFailed``;
  ///   ``ErrorCode/relationshipCrossesStores``; ``ErrorCode/storeDetached`` for a reference into a detached store.
  func checked(_ values: [AttributeValue], _ derivedValues: DerivedValues) throws -> [AttributeValue] {
    guard values.count == entity.slotCount else {
      throw CoherenceError(
        .invalidValue,
        "A save participant must give \(entity.slotCount) values for '\(entity.name)', one for each slot of the row, "
          + "not \(values.count).")
    }
    var result = values
    for slot in values.indices where !entity.plainValues[slot].contains(values[slot]) {
      result[slot] = try checked(values[slot], at: slot)
    }
    derivedValues.derive(&result, of: entity)
    for slot in entity.checked.required where result[slot].isNull { throw refusal(of: slot, "needs a value") }
    for slot in entity.checked.ruled { try checkRules(of: slot, result[slot]) }
    return result
  }

  private func checked(_ value: AttributeValue, at slot: Int) throws(CoherenceError) -> AttributeValue {
    if value.isNull { return value }
    switch (entity.slots[slot], value) {
    case (.attribute(let attribute), _):
      if attribute.derivation != nil { return value }
      do {
        return try attribute.type.checked(value)
      } catch {
        throw refusal(of: slot, "does not fit: \(error.message)", because: error)
      }
    case (.reference(let relationship), .reference(let target)):
      return try checked(target, relationship, value)
    case (.position, .int):
      return value
    case (.reference, _), (.position, _):
      throw refusal(of: slot, "cannot be of type \(value.typeName)")
    }
  }

  private func checked(
    _ target: ManagedObjectID, _ relationship: RelationshipDescription, _ value: AttributeValue
  ) throws(CoherenceError) -> AttributeValue {
    guard target.entity === relationship.destination.root, !target.isTemporaryID else {
      throw refusal(of: relationship.slotInRow, "leads to no saved record of '\(relationship.destination.name)'")
    }
    guard target.storeIdentifier == store else {
      _ = try coordinator.store(of: target)
      throw CoherenceError(
        .relationshipCrossesStores,
        "A save participant adds a record whose '\(entity.name).\(relationship.name)' leads into another store; keep "
          + "both records in one store, or leave the relationship empty.")
    }
    return value
  }

  private func checkRules(of slot: Int, _ value: AttributeValue) throws {
    guard case .attribute(let attribute) = entity.slots[slot], !value.isNull else { return }
    for rule in attribute.validation where try !rule.isSatisfied(by: value) { throw refusal(of: slot, rule.violation) }
  }

  private func refusal(of slot: Int, _ reason: String, because cause: CoherenceError? = nil) -> CoherenceError {
    CoherenceError(
      .validationFailed,
      "A save participant adds a record whose '\(entity.name).\(entity.slots[slot].name)' \(reason).", underlying: cause
    )
  }
}

extension DerivedValues {
  /// Computes the derived values of a fresh record.
  func derive(_ values: inout [AttributeValue], of entity: EntityDescription) {
    for derived in entity.checked.derived {
      let value = derived.value(in: { values[$0] }, savedAt: time, by: author)
      values[derived.slot] = value
    }
    for related in entity.checked.related { values[related.slot] = related.initial }
  }
}
