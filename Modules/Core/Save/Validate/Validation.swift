import Synchronization

/// Validates unsaved records by the rules of the model and by the hooks of their objects, and collects all failures.
struct Validation {
  /// The failures of all rules and of all calls of hooks. After repeated calls, ``withModelRules(of:)`` makes a
  /// validation with the failures of the last calls only.
  private(set) var failures: [ValidationFailure] = []
  private(set) var denials: [ValidationFailure] = []

  // The tables retain the records next to their addresses: a hook may release a record, whose address a new record
  // could get.

  /// The failures that the last call of a record's hooks reported, with the kind of the change at that call.
  private var hookFailures:
    [ObjectIdentifier: (record: PendingRecord, kind: PendingRecord.Kind, failures: [ValidationFailure])] = [:]
  private var calls = HookCalls([])
  /// The deleted records whose hooks were called.
  private var deletesWithCalledHooks: [PendingRecord] = []
  /// The addresses of the first of ``deletesWithCalledHooks``. Made on demand, because most hooks change nothing.
  private var addressesWithCalledHooks: Set<ObjectIdentifier> = []
  /// The number of records of ``deletesWithCalledHooks`` whose addresses are in ``addressesWithCalledHooks``.
  private var indexedDeletes = 0

  /// Validates all unsaved records by the model's rules and by their hooks. Called once, before other calls of hooks.
  mutating func check(in storage: ContextStorage) throws {
    let records = storage.records
    calls = HookCalls(records)
    var index = 0
    try records.visit { unmanaged in
      try unmanaged._withUnsafeGuaranteedRef { try check($0, at: index, in: storage) }
      index += 1
    }
  }

  /// Validates the record at an index of the first pass.
  private mutating func check(_ record: PendingRecord, at index: Int, in storage: ContextStorage) throws {
    guard record.isTracked, !record.isUnchanged else { return }
    try checkByModel(record)
    let changed = storage.changes { callHooks(of: record) }
    if !changed.isEmpty { calls.noteChanges(of: changed, byRecordAt: index) }
  }

  /// Calls the hooks of records after ``check(in:)``.
  mutating func callHooks(of records: [PendingRecord], in storage: ContextStorage) {
    for record in records {
      let changed = storage.changes { callHooks(of: record) }
      calls.noteChanges(of: changed, by: record)
    }
  }

  /// Removes and returns the records that the hooks of other records have changed after their own hooks were called.
  mutating func takeRecordsToRepeat() -> [PendingRecord] { calls.takeRecordsToRepeat() }

  var hasRecordsToRepeat: Bool { calls.hasRecordsToRepeat }

  /// Returns a validation with the model's rules applied anew, and with the failures that hooks have reported. Calls no
  /// hook.
  func withModelRules(of records: [PendingRecord]) throws -> Validation {
    var result = Validation()
    for record in records where record.isTracked && !record.isUnchanged {
      try result.checkByModel(record)
      if let earlier = hookFailures[ObjectIdentifier(record)], earlier.kind == record.kind {
        result.failures += earlier.failures
      }
    }
    return result
  }

  private mutating func checkByModel(_ record: PendingRecord) throws {
    guard record.kind != .deleted else { return try checkDelete(record) }
    let checks: EntityChecks = record.entity.checked
    let isFresh = record.kind == .inserted
    for slot in checks.required where record.draft.isNull(at: slot) && (isFresh || record.changed.contains(slot)) {
      noteMissing(slot, of: record)
    }
    for slot in checks.ruled where isFresh || record.changed.contains(slot) { try check(slot, of: record) }
    for relationship in checks.relationships
    where isFresh || record.members[relationship] != nil {
      try checkCount(of: relationship, record)
    }
  }

  /// Calls the validation hooks of a record's object. The failures replace those of an earlier call in
  /// ``hookFailures``, but not in ``failures``.
  private mutating func callHooks(of record: PendingRecord) {
    let kind = record.kind
    if kind == .deleted { deletesWithCalledHooks.append(record) }
    guard let object = record.object else { return }
    var found = record.entity.checked.hasPropertyRules ? propertyFailures(of: record, object) : []
    do {
      switch kind {
      case .inserted: try object.validateForInsert()
      case .updated: try object.validateForUpdate()
      case .deleted: try object.validateForDelete()
      }
    } catch {
      found.append(failure(thrownByHook: error, record, ""))
    }
    guard !found.isEmpty else {
      if !hookFailures.isEmpty { hookFailures[ObjectIdentifier(record)] = nil }
      return
    }
    hookFailures[ObjectIdentifier(record)] = (record, kind, found)
    failures += found
  }

  /// Whether the hooks of a deleted record were called.
  mutating func hasCalledHooks(ofDeleted record: PendingRecord) -> Bool {
    for called in deletesWithCalledHooks[indexedDeletes...] {
      addressesWithCalledHooks.insert(ObjectIdentifier(called))
    }
    indexedDeletes = deletesWithCalledHooks.count
    return addressesWithCalledHooks.contains(ObjectIdentifier(record))
  }

  /// The failures of the values to save by the rules of a ``PropertyValidating`` class.
  private func propertyFailures(of record: PendingRecord, _ object: ManagedObject) -> [ValidationFailure] {
    guard record.kind != .deleted, let object = object as? any PropertyValidating else { return [] }
    let slots = record.kind == .inserted ? Array(record.entity.slots.indices) : Array(record.changed)
    return slots.compactMap { slot in
      guard let property = record.entity.slots[slot].validatedProperty else { return nil }
      do {
        try object.validate(record[slot], for: property)
        return nil
      } catch {
        return failure(thrownByHook: error, record, property.name)
      }
    }
  }

  /// Checks that no deny rule forbids a delete.
  private mutating func checkDelete(_ record: PendingRecord) throws {
    guard let object = record.object else { return }
    for relationship in record.entity.checked.denying {
      let ids: [ManagedObjectID] =
        if let slot = relationship.slot {
          if case .reference(let id) = record[slot] { [id] } else { [] }
        } else {
          try object.memberIDs(of: relationship)
        }
      let remaining = try ids.contains { id in
        guard let target = try object.presentMember(id, of: relationship) else { return false }
        return try target.pending?.kind != .deleted && !target.flags.contains(.detached)
          && target.isStillRelated(to: object, relationship)
      }
      if remaining { denials.append(ValidationFailure(denying: record.id, record.entity, by: relationship)) }
    }
  }

  /// Adds denied deletes.
  mutating func add(denials: [ValidationFailure]) { self.denials += denials }

  /// Ends the validation: throws if a failure was found.
  ///
  /// - Throws: ``ErrorCode/validationFailed`` with every failure; ``ErrorCode/deleteDenied`` when all failures are
  ///   denied deletes.
  func conclude() throws(CoherenceError) {
    guard !(failures + denials).isEmpty else { return }
    var error =
      failures.isEmpty
      ? .deleteDenied(denials)
      : CoherenceError(.validationFailed, "\(failures.count) value(s) do not satisfy the model.")
    error.failures = failures + denials
    error.objectIDs = error.failures.map(\.objectID)
    throw error
  }

  private func failure(
    _ code: ErrorCode, _ record: PendingRecord, _ property: String, _ reason: String, rule: ValidationRule? = nil
  ) -> ValidationFailure {
    ValidationFailure(
      code: code, objectID: record.id, entityName: record.entity.name, propertyName: property, reason: reason,
      rule: rule)
  }

  private func failure(thrownByHook error: any Error, _ record: PendingRecord, _ property: String)
    -> ValidationFailure
  {
    ValidationFailure(
      thrownByHook: error, objectID: record.id, entityName: record.entity.name, propertyName: property)
  }

  private mutating func noteMissing(_ slot: Int, of record: PendingRecord) {
    let slot = record.entity.slots[slot]
    let need = if case .reference = slot { "needs an object" } else { "needs a value" }
    failures.append(failure(.missingValue, record, slot.name, need))
  }

  private mutating func check(_ slot: Int, of record: PendingRecord) throws {
    let value = record[slot]
    guard !value.isNull, case .attribute(let attribute) = record.entity.slots[slot] else { return }
    for rule in attribute.validation {
      guard try !rule.isSatisfied(by: value) else { continue }
      failures.append(failure(.invalidValue, record, attribute.name, rule.violation, rule: rule))
    }
  }

  private mutating func checkCount(of relationship: RelationshipDescription, _ record: PendingRecord) throws {
    guard let count = try record.object?.memberIDs(of: relationship).count else { return }
    let (minimum, maximum) = (relationship.minimumCount, relationship.maximumCount)
    if let (code, reason) = MemberCountFailures.complaint(count, minimum: minimum, maximum: maximum) {
      failures.append(failure(code, record, relationship.name, reason))
    }
  }
}

extension ValidationFailure {
  init(denying id: ManagedObjectID, _ entity: EntityDescription, by relationship: RelationshipDescription) {
    self.init(
      code: .deleteDenied, objectID: id, entityName: entity.name, propertyName: relationship.name,
      reason: "still has members, and denies the delete")
  }
}

extension CoherenceError {
  static func deleteDenied(_ denials: [ValidationFailure]) -> CoherenceError {
    var error = CoherenceError(.deleteDenied, "A delete is denied by \(denials.count) relationship(s).")
    error.failures = denials
    error.objectIDs = denials.map(\.objectID)
    return error
  }
}

extension Slot {
  /// The property of the slot; `nil` for a position, which only the framework sets.
  fileprivate var validatedProperty: PropertyDescription? {
    switch self {
    case .attribute(let attribute): attribute
    case .reference(let relationship): relationship
    case .position: nil
    }
  }
}

extension ManagedObject {
  /// Whether this object still refers to the owner. `true` for a present record if the inverse is not stored in its row.
  ///
  /// - Throws: Errors of the store: a failed read must not allow a denied delete.
  fileprivate final func isStillRelated(
    to owner: ManagedObject, _ relationship: RelationshipDescription
  ) throws -> Bool {
    do {
      guard let slot = relationship.inverse?.slot else {
        // A reference that no store checks may lead to a missing record.
        if relationship.mayDangle { try loadRow() }
        return true
      }
      return try loadedValue(at: slot) == .reference(owner.recordID)
    } catch let error as CoherenceError where error.isOfMissingRecord {
      return false
    }
  }
}

extension ValidationRule {
  /// The violation of the rule, as the end of a sentence.
  var violation: String {
    switch self {
    case .minimum: "is below the minimum"
    case .maximum: "is above the maximum"
    case .minimumLength(let length): "is shorter than \(length)"
    case .maximumLength(let length): "is longer than \(length)"
    case .pattern: "does not match its pattern"
    }
  }

  /// - Throws: ``ErrorCode/limitExceeded`` when a pattern is too complex for a text; ``ErrorCode/cancelled``.
  func isSatisfied(by value: AttributeValue) throws -> Bool {
    switch self {
    case .minimum(let bound): value.order(to: bound) >= 0
    case .maximum(let bound): value.order(to: bound) <= 0
    case .minimumLength(let length): Self.length(of: value).map { $0 >= length } ?? true
    case .maximumLength(let length): Self.length(of: value).map { $0 <= length } ?? true
    case .pattern(let pattern): try Self.matches(value, pattern)
    }
  }

  private static func length(of value: AttributeValue) -> Int? {
    switch value {
    case .string(let text): text.count
    case .data(let data): data.count
    default: nil
    }
  }

  /// The compiled patterns of the rules, by their texts. Stored texts are compared by their bytes, as patterns are.
  private static let patterns = Mutex<[AttributeValue: TextPattern]>([:])

  private static func matches(_ value: AttributeValue, _ pattern: String) throws -> Bool {
    guard case .string(let text) = value else { return true }
    let compiled = try patterns.withLock { compiledPatterns in
      if let textPattern = compiledPatterns[.string(pattern)] { return textPattern }
      let textPattern = try TextPattern(pattern, [])
      compiledPatterns[.string(pattern)] = textPattern
      return textPattern
    }
    return try compiled.matches(text)
  }
}
