// The first stage of a save: the last changes by the objects' hooks, positions in ordered lists, and the validation.

extension ManagedObjectContext {
  /// Applies delete rules, calls `willSave`, gives positions to the members of ordered relationships, announces the
  /// changes, and validates all unsaved records.
  ///
  /// Hooks and observers run code of the user, which may insert, change and delete objects. The records that this code
  /// changes pass through the same steps, until no further record changes.
  ///
  /// - Throws: ``ErrorCode/recordVanished``, ``ErrorCode/objectUnavailable``, ``ErrorCode/validationFailed`` and
  ///   ``ErrorCode/deleteDenied``, and errors of the store.
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
      // Validation hooks change objects too.
      try checkReports()
    }
  }

  /// Throws when a change was lost, or when the records to save depend on an object that failed to load.
  private final func checkReports() throws {
    guard !storage.reports.isEmpty else { return }
    let failures = storage.reports.lostChanges.map { ($0.objectID, $0.error) } + unavailableDependencies
    guard let error = failures.first?.1 else { return }
    let cause = error as? CoherenceError
    let code: ErrorCode =
      switch cause?.code {
      case .wrongType?, .invalidValue?, .unknownProperty?: .validationFailed
      case .recordVanished?: .recordVanished
      default: .objectUnavailable
      }
    var refusal = CoherenceError(
      code,
      "A change was lost, or depends on an object that is not available\(cause.map { ": \($0.message)" } ?? ".") "
        + "See `reportedErrors`; `refresh` of the object, or `rollback`, clears them.",
      underlying: error)
    let vanished = failures.map(\.1).compactMap { $0 as? CoherenceError }.filter { $0.code == .recordVanished }
    var seen: Set<ManagedObjectID> = []
    refusal.objectIDs = (failures.map(\.0) + vanished.flatMap(\.objectIDs)).filter { seen.insert($0).inserted }
    throw refusal
  }

  /// The objects on which unsaved records depend and that could not be loaded: their own objects, the targets of
  /// changed references, and added members.
  private final var unavailableDependencies: [(ManagedObjectID, any Error)] {
    var result: [(ManagedObjectID, any Error)] = []
    func note(_ id: ManagedObjectID) {
      guard let object = storage.registry.object(for: id), object.flags.contains(.unavailable) else { return }
      result.append((id, storage.reports.report(of: id)?.error ?? object.deletedError()))
    }
    for record in storage.records where !record.isUnchanged && record.kind != .deleted {
      note(record.id)
      for slot in record.entity.referenceSlots where record.changed.contains(slot) {
        if case .reference(let id) = record[slot] { note(id) }
      }
      for id in record.members.values.lazy.flatMap(\.added) { note(id) }
    }
    return result
  }

  /// Counts the rounds of a preparation, and ends it when objects change each other without end.
  private struct SavePreparation {
    var rounds: Int
    static let limit = 1000

    mutating func beginRound(_ records: [PendingRecord]) throws {
      rounds += 1
      guard rounds > Self.limit else { return }
      var error = CoherenceError(
        .validationFailed,
        "Objects change further objects in each call of `willSave`, of a validation hook or of an observer, and "
          + "\(Self.limit) rounds have not ended the changes; assign a value there only if it differs.")
      error.objectIDs = records.prefix(10).map(\.id)
      throw error
    }
  }

  /// Calls `willSave` of objects, then of the objects that these calls changed, with the delete rules applied in
  /// between.
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
      callingHooks {
        due.visit { record in
          record._withUnsafeGuaranteedRef { if $0.isTracked && $0.kind != .deleted { $0.object?.willSave() } }
        }
      }
      try applyPendingDeleteRules()
      due = storage.takeNewRecords()
      if !due.isEmpty { called += due }
    }
    return called
  }

  /// Validates all unsaved records. An object that the validation hooks of another object change is validated after the
  /// change, also if its own hooks were called before. Changes that a hook has posted itself cause no second validation.
  private final func validate(_ preparation: inout SavePreparation) throws {
    var validation = Validation()
    guard try storage.isChanged(by: { try callingHooks { try validation.check(in: storage) } }) else {
      validation.add(denials: try denialsOfBareDeletes())
      return try validation.conclude()
    }
    var due = storage.takeNewRecords()
    repeat {
      try applyPendingDeleteRules()
      due += storage.takeNewRecords()
      // The objects that the validation changed or deleted are validated like the others.
      let changed = try callWillSave(due, &preparation).filter { $0.isTracked && $0.kind != .deleted }
      let deleted = storage.records.filter { $0.kind == .deleted && !validation.hasCalledHooks(ofDeleted: $0) }
      let calledAnyway = Set(changed.map(ObjectIdentifier.init))
      let repeated = validation.takeRecordsToRepeat().filter { record in
        record.isTracked && record.kind != .deleted && !calledAnyway.contains(ObjectIdentifier(record))
      }
      if !repeated.isEmpty { try preparation.beginRound(repeated) }
      callingHooks { validation.callHooks(of: changed + deleted + repeated, in: storage) }
      try applyPendingDeleteRules()
      due = storage.takeNewRecords()
    } while !due.isEmpty || validation.hasRecordsToRepeat
      || storage.records.contains { $0.kind == .deleted && !validation.hasCalledHooks(ofDeleted: $0) }
    try assignPositions()
    var result = try validation.withModelRules(of: storage.records)
    result.add(denials: try denialsOfBareDeletes())
    try result.conclude()
  }
}
