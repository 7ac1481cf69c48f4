/// Validates the values that a merge policy computes for a record.
///
/// A save validates the changed values of objects before it meets a conflict. The values of a policy do not exist at
/// that time.
struct PolicyValueCheck {
  private let conflict: Conflict
  private let entity: EntityDescription
  private var failures: [ValidationFailure] = []

  init(of conflict: Conflict) {
    self.conflict = conflict
    entity = (conflict.mine ?? conflict.store ?? conflict.ancestor)?.entity ?? conflict.objectID.entity
  }

  /// Checks values, and returns them in their stored form. A value equal to the store's value is not checked.
  ///
  /// - Throws: ``ErrorCode/invalidValue`` for a wrong number of values; ``ErrorCode/validationFailed`` with every value
  ///   that does not satisfy the model.
  mutating func checked(_ values: [AttributeValue]) throws -> [AttributeValue] {
    guard values.count == entity.slotCount else {
      throw CoherenceError(
        .invalidValue,
        "A merge policy must return \(entity.slotCount) values for '\(entity.name)', one for each slot of the row, not "
          + "\(values.count).")
    }
    var checked = values
    for slot in values.indices where conflict.store.map({ $0[slot] != values[slot] }) ?? true {
      checked[slot] = try self.checked(values[slot], at: slot)
    }
    guard !failures.isEmpty else { return checked }
    var error = CoherenceError(
      .validationFailed, "\(failures.count) value(s) of a merge policy do not satisfy the model.")
    error.failures = failures
    error.objectIDs = [conflict.objectID]
    throw error
  }

  private mutating func checked(_ value: AttributeValue, at slot: Int) throws -> AttributeValue {
    if value.isNull {
      if entity.checked.required.contains(slot) { fail(slot, .missingValue, "needs a value") }
      return value
    }
    switch (entity.slots[slot], value) {
    case (.attribute(let attribute), _):
      return try checked(value, of: attribute, at: slot)
    case (.reference(let relationship), .reference(let target)):
      let isFit =
        target.entity === relationship.destination.root && target.storeIdentifier == conflict.objectID.storeIdentifier
      if !isFit {
        fail(slot, .invalidValue, "does not lead to a record of '\(relationship.destination.name)' in the same store")
      }
    case (.position, .int):
      break
    case (.reference, _), (.position, _):
      fail(slot, .wrongType, "cannot be of type \(value.typeName)")
    }
    return value
  }

  private mutating func checked(
    _ value: AttributeValue, of attribute: AttributeDescription, at slot: Int
  ) throws -> AttributeValue {
    let stored: AttributeValue
    do {
      stored = try attribute.type.checked(value)
    } catch {
      fail(slot, error.code, error.message)
      return value
    }
    for rule in attribute.validation where try !rule.isSatisfied(by: stored) {
      fail(slot, .invalidValue, rule.violation, rule: rule)
    }
    return stored
  }

  private mutating func fail(_ slot: Int, _ code: ErrorCode, _ reason: String, rule: ValidationRule? = nil) {
    failures.append(
      ValidationFailure(
        code: code, objectID: conflict.objectID, entityName: entity.name, propertyName: entity.slots[slot].name,
        reason: reason, rule: rule))
  }
}
