// The stage of a save that validates: the last changes of the objects themselves, positions in ordered lists, and the rules
// of the model.

extension ManagedObjectContext {
  /// Applies delete rules, calls `willSave`, gives positions to the members of ordered relationships, announces the
  /// changes, and validates all unsaved records.
  ///
  /// Objects and observers run code of the user here, which may insert, change and delete objects. The records that they
  /// change pass through the same steps, until no record is changed.
  ///
  /// - Throws: ``ErrorCode/objectUnavailable``, ``ErrorCode/validationFailed`` and ``ErrorCode/deleteDenied``, and errors of
  ///   the store.
  final func prepareSave() throws {
    try applyPendingDeleteRules()
    try storage.collectingNewRecords {
      var preparation = SavePreparation(rounds: 0)
      var due = storage.records
      repeat {
        try callWillSave(due, &preparation)
        try assignPositions()
        postChanges()
        try applyPendingDeleteRules()
        due = storage.takeNewRecords()
      } while !due.isEmpty
      try checkReports()
      try validate(&preparation)
    }
  }

  /// Refuses a save when a change was lost, or when the saved records depend on an object that failed to load.
  private final func checkReports() throws {
    guard !storage.reports.isEmpty else { return }
    let lost = storage.reports.lostChange.map { ($0.objectID, $0.error) }
    guard let (id, error) = lost ?? unavailableDependency else { return }
    let cause = error as? CoherenceError
    let isOfValue = cause.map { [.wrongType, .invalidValue, .unknownProperty].contains($0.code) } ?? false
    var refusal = CoherenceError(
      isOfValue ? .validationFailed : .objectUnavailable,
      "A change was lost, or depends on an object that is not available\(cause.map { ": \($0.message)" } ?? ".") "
        + "See `reportedErrors`; `refresh` of the object, or `rollback`, clears them.",
      underlying: error)
    refusal.objectIDs = storage.reports.list.filter(\.losesChange).map(\.objectID)
    if refusal.objectIDs.isEmpty { refusal.objectIDs = [id] }
    throw refusal
  }

  /// An object that could not be loaded, and that an unsaved record depends on: its own object, the target of a changed
  /// reference, or an added member.
  private final var unavailableDependency: (ManagedObjectID, any Error)? {
    func failure(_ id: ManagedObjectID) -> (ManagedObjectID, any Error)? {
      guard let object = storage.registry.object(for: id), object.flags.contains(.unavailable) else { return nil }
      return (id, storage.reports.report(of: id)?.error ?? object.deletedError())
    }
    for record in storage.records where !record.isUnchanged && record.kind != .deleted {
      if let found = failure(record.id) { return found }
      for slot in record.entity.referenceSlots where record.changed.contains(slot) {
        if case .reference(let id) = record[slot], let found = failure(id) { return found }
      }
      for id in record.members.values.lazy.flatMap(\.added) { if let found = failure(id) { return found } }
    }
    return nil
  }

  /// Counts the rounds of a preparation, which would never end for objects that change another object each time.
  private struct SavePreparation {
    var rounds: Int
    static let limit = 1000

    mutating func beginRound(_ records: [PendingRecord]) throws {
      rounds += 1
      guard rounds > Self.limit else { return }
      var error = CoherenceError(
        .validationFailed,
        "Objects change further objects each time `willSave`, `validateForSave` or an observer of the context is called, "
          + "and \(Self.limit) rounds did not end it; change an object there only where its value differs.")
      error.objectIDs = records.prefix(10).map(\.id)
      throw error
    }
  }

  /// Calls `willSave` of objects, then of the objects that these calls changed, with the delete rules applied in between.
  ///
  /// - Returns: The records of all called objects.
  @discardableResult
  private final func callWillSave(
    _ records: [PendingRecord], _ preparation: inout SavePreparation
  ) throws -> [PendingRecord] {
    var due = records
    var called = records
    while !due.isEmpty {
      try preparation.beginRound(due)
      due.visit { record in
        record._withUnsafeGuaranteedRef { if $0.isCurrent && $0.kind != .deleted { $0.object?.willSave() } }
      }
      try applyPendingDeleteRules()
      due = storage.takeNewRecords()
      if !due.isEmpty { called += due }
    }
    return called
  }

  /// Checks all unsaved records. Changes that objects make in `validateForSave` are checked by the model's rules too.
  private final func validate(_ preparation: inout SavePreparation) throws {
    var validation = Validation()
    guard try storage.isChanged(by: { try validation.check(storage.records) }) else { return try validation.conclude() }
    var due = storage.takeNewRecords()
    while !due.isEmpty {
      // The objects that the validation changed are validated like the first ones.
      for record in try callWillSave(due, &preparation) where record.isCurrent && record.kind != .deleted {
        validation.ask(record)
      }
      try applyPendingDeleteRules()
      due = storage.takeNewRecords()
    }
    try assignPositions()
    try validation.withModelRules(of: storage.records).conclude()
  }

  /// Writes the positions of members of ordered relationships into their rows, and changes as few rows as possible. A
  /// position is a value of the owner, so that `willSave` of the members is not called for it.
  ///
  /// Members appended to members that keep their positions get positions without a read of the list.
  private final func assignPositions() throws {
    guard storage.changesLists else { return }
    for record in storage.records where record.kind != .deleted && !record.members.isEmpty {
      guard let owner = record.object else { continue }
      for (relationship, changes) in record.members where relationship.isOrdered && !changes.isEmpty {
        guard case .inverseColumn(_, let slot?) = relationship.storage else { continue }
        let version = record.base?.version
        // Members added after this save get positions from here on.
        let end = ListPositions.first(behindVersion: (version ?? 0) + 1) ?? .max
        if changes.keepsPositions, let first = ListPositions.first(behindVersion: version) {
          try assignPositions(to: changes.added, at: slot, in: first..<end)
        } else {
          try assignPositions(to: owner.memberIDs(of: relationship), at: slot, in: 0..<end)
        }
      }
    }
    _ = storage.takeNewRecords()
  }

  /// Gives records rising positions. Positions that rise already stay as they are.
  private final func assignPositions(to ids: [ManagedObjectID], at slot: Int, in positions: Range<Int64>) throws {
    var next = positions.lowerBound
    let members = try existingObjects(with: ids)
    for id in ids {
      // A member deleted by another context is a conflict of the list, which the save finds.
      guard let member = members[id], let value = try member.valueIfPresent(at: slot) else { continue }
      if case .int(let position) = value, position >= next, position < positions.upperBound {
        next = position + 1
      } else {
        try member.write(.int(next), at: slot)
        next += 1
      }
    }
  }
}

extension ManagedObject {
  /// The value of a slot; `nil` when the record is deleted in the store.
  fileprivate final func valueIfPresent(at slot: Int) throws -> AttributeValue? {
    do {
      return try loadedValue(at: slot)
    } catch let error as CoherenceError where error.code == .objectDeleted || error.code == .objectNotFound {
      return nil
    }
  }
}
