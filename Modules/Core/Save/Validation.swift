import Foundation
import Synchronization

/// Finds what keeps changed objects from being saved. All failures are found, not just the first.
struct Validation {
  private(set) var failures: [ValidationFailure] = []
  private(set) var denials: [ValidationFailure] = []

  /// Checks a record that is inserted or changed.
  mutating func check(_ record: PendingRecord) throws {
    let entity = record.entity
    for slot in entity.checkedSlots where record.kind == .inserted || record.changed.contains(slot) {
      check(slot, of: record)
    }
    for relationship in entity.countedRelationships
    where record.kind == .inserted || record.members[relationship] != nil {
      try checkCount(of: relationship, record)
    }
    do {
      try record.object?.validateForSave()
    } catch {
      let text = (error as? CoherenceError)?.message ?? "\(error)"
      failures.append(failure(.validationFailed, record, "", text))
    }
  }

  /// Checks that no deny rule forbids a delete.
  mutating func checkDelete(_ record: PendingRecord) throws {
    guard let object = record.object else { return }
    for relationship in record.entity.relationships where relationship.deleteRule == .deny {
      let ids: [ManagedObjectID] =
        if let slot = relationship.slot {
          if case .reference(let id) = record.values[slot] { [id] } else { [] }
        } else {
          try object.memberIDs(of: relationship)
        }
      let remaining = ids.contains { id in
        guard let target = try? object.member(id, of: relationship) else { return false }
        return target.pending?.kind != .deleted && !target.flags.contains(.gone)
          && target.isStillRelated(to: object, relationship)
      }
      if remaining {
        denials.append(failure(.deleteDenied, record, relationship.name, "still has members, and denies the delete"))
      }
    }
  }

  /// - Throws: ``ErrorCode/validationFailed``, or ``ErrorCode/deleteDenied`` when nothing else is wrong.
  func conclude() throws(CoherenceError) {
    guard !(failures + denials).isEmpty else { return }
    var error =
      failures.isEmpty
      ? CoherenceError(.deleteDenied, "A delete is denied by \(denials.count) relationship(s).")
      : CoherenceError(.validationFailed, "\(failures.count) value(s) do not satisfy the model.")
    error.failures = failures + denials
    error.objectIDs = error.failures.map(\.objectID)
    throw error
  }

  private func failure(_ code: ErrorCode, _ record: PendingRecord, _ property: String, _ reason: String)
    -> ValidationFailure
  {
    ValidationFailure(
      code: code, objectID: record.id, entityName: record.entity.name, propertyName: property, reason: reason)
  }

  private mutating func check(_ slot: Int, of record: PendingRecord) {
    let value = record.values[slot]
    switch record.entity.slots[slot] {
    case .attribute(let attribute):
      if value.isNull {
        if !attribute.isOptional { failures.append(failure(.missingValue, record, attribute.name, "needs a value")) }
        return
      }
      for rule in attribute.validation where !rule.isSatisfied(by: value) {
        failures.append(failure(.invalidValue, record, attribute.name, rule.demand))
      }
    case .reference(let relationship):
      if value.isNull, !relationship.isOptional {
        failures.append(failure(.missingValue, record, relationship.name, "needs an object"))
      }
    case .position: break
    }
  }

  private mutating func checkCount(of relationship: RelationshipDescription, _ record: PendingRecord) throws {
    guard let count = try record.object?.memberIDs(of: relationship).count else { return }
    if count < relationship.minimumCount {
      failures.append(
        failure(.missingValue, record, relationship.name, "needs at least \(relationship.minimumCount) members"))
    }
    if let maximum = relationship.maximumCount, count > maximum {
      failures.append(failure(.invalidValue, record, relationship.name, "may have at most \(maximum) members"))
    }
  }
}

extension ManagedObject {
  /// Whether this object's side of a relationship still leads back, where it has a column of its own.
  fileprivate final func isStillRelated(to owner: ManagedObject, _ relationship: RelationshipDescription) -> Bool {
    guard let slot = relationship.inverse?.slot else { return true }
    return (try? loadedValue(at: slot)) == .reference(owner.id)
  }
}

extension ValidationRule {
  /// What the rule asks for, in words.
  var demand: String {
    switch self {
    case .minimum: "is below the minimum"
    case .maximum: "is above the maximum"
    case .minimumLength(let length): "is shorter than \(length)"
    case .maximumLength(let length): "is longer than \(length)"
    case .pattern: "does not match its pattern"
    }
  }

  func isSatisfied(by value: AttributeValue) -> Bool {
    switch self {
    case .minimum(let bound): value.order(to: bound) >= 0
    case .maximum(let bound): value.order(to: bound) <= 0
    case .minimumLength(let length): Self.length(of: value).map { $0 >= length } ?? true
    case .maximumLength(let length): Self.length(of: value).map { $0 <= length } ?? true
    case .pattern(let pattern): Self.matches(value, pattern)
    }
  }

  private static func length(of value: AttributeValue) -> Int? {
    switch value {
    case .string(let text): text.count
    case .data(let data): data.count
    default: nil
    }
  }

  private static let expressions = Mutex<[String: NSRegularExpression]>([:])

  private static func matches(_ value: AttributeValue, _ pattern: String) -> Bool {
    guard case .string(let text) = value else { return true }
    let expression = expressions.withLock { known -> NSRegularExpression? in
      if let expression = known[pattern] { return expression }
      let expression = try? NSRegularExpression(pattern: "\\A(?:\(pattern))\\z")
      known[pattern] = expression
      return expression
    }
    return expression?.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
  }
}

extension EntityDescription {
  /// Slots that validation looks at.
  var checkedSlots: [Int] { checked.slots }
  /// To-many relationships with bounds on their number of members.
  var countedRelationships: [RelationshipDescription] { checked.relationships }
  /// Slots that hold references.
  var referenceSlots: [Int] { checked.references }
}

/// What a save looks up about an entity again and again.
struct EntityChecks: Sendable {
  let slots: [Int]
  let relationships: [RelationshipDescription]
  let references: [Int]

  init(_ entity: EntityDescription) {
    slots = entity.slots.indices.filter { index in
      switch entity.slots[index] {
      case .attribute(let attribute): !attribute.isOptional || !attribute.validation.isEmpty
      case .reference(let relationship): !relationship.isOptional
      case .position: false
      }
    }
    relationships = entity.relationships.filter { $0.isToMany && ($0.minimumCount > 0 || $0.maximumCount != nil) }
    references = entity.slots.indices.filter { if case .reference = entity.slots[$0] { true } else { false } }
  }
}
