/// The stage of a save that writes units of work into their stores: one transaction for each store, conflicts resolved
/// by the context's merge policy.
struct SaveExecution {
  private let context: ManagedObjectContext
  private let coordinator: PersistentStoreCoordinator
  private let permanentIDs: PermanentIDs
  private let derivedValues: DerivedValues
  private let policy: MergePolicy
  /// The participants of the save; `nil` for none.
  private let recording: SaveRecording?
  /// Whether the policy resolves collisions of unique values. Work that plans again after a lost race finds the record
  /// of the other writer itself, see ``ManagedObjectContext/planningAgain(afterRacesOver:startsExcluding:_:)``.
  private let resolvesUniqueness: Bool

  init(
    _ context: ManagedObjectContext, _ coordinator: PersistentStoreCoordinator, _ permanentIDs: PermanentIDs,
    _ derivedValues: DerivedValues
  ) {
    self.context = context
    self.coordinator = coordinator
    self.permanentIDs = permanentIDs
    self.derivedValues = derivedValues
    policy = context.mergePolicy
    resolvesUniqueness = policy.resolvesUniqueness && !context.storage.callbacks.isPlanningAgain
    recording = SaveRecording(of: context, in: coordinator)
  }

  /// The number of attempts of a save with conflicts.
  private static let attempts = 64
  /// The number of attempts after which a ``WriterExcluding`` store keeps other writers out.
  private static let sharedAttempts = 4
  /// The number of attempts while other writers are kept out. One conflict may follow from the resolution of another
  /// one.
  private static let exclusiveAttempts = 16
  /// The number of repeated attempts after a constraint refused the save although no record explains the refusal.
  private static let uselessAttempts = 8

  /// Writes one unit, and resolves conflicts over versions and unique values until the store accepts it. Saves that
  /// conflict over the same records reserve them, see ``SaveReservations``.
  ///
  /// - Throws: ``ErrorCode/versionConflict`` with the conflicts that the policy does not resolve, or, retryable, after
  ///   the last attempt; ``ErrorCode/cancelled`` between two attempts; errors of the policy and of the store. The store
  ///   is as before then, unless the error's outcome says otherwise.
  func commit(_ unit: StoreUnit) throws -> CommittedUnit {
    var resolution = ConflictResolution(of: unit, in: context, permanentIDs, derivedValues)
    if SaveReservations.all.isAnyTaken, !context.lease.excludesWriters {
      // The wait must not hold a connection.
      context.lease.endOffers()
      SaveReservations.all.waitForOthers(unit.unit.changes.lazy.map(\.id))
    }
    var reservation = SaveReservations.Reservation()
    defer { SaveReservations.all.end(&reservation) }
    for attempt in 1...Self.attempts {
      if try save(&resolution, &reservation) { return resolution.committed }
      if attempt == Self.sharedAttempts, policy.canExcludeWriters, !context.lease.excludesWriters,
        try saveExcludingWriters(&resolution, &reservation)
      {
        return resolution.committed
      }
      if attempt > 2, !context.lease.excludesWriters { SaveReservations.pause(after: attempt - 2) }
    }
    throw CoherenceError(
      .versionConflict, "Other writers change the records faster than the save can resolve the conflicts; save again.",
      isRetryable: true)
  }

  /// Tries to write a unit once, with the records that participants add to it.
  ///
  /// - Returns: `false` when the save found conflicts, which are resolved in the unit now.
  private func save(
    _ resolution: inout ConflictResolution, _ reservation: inout SaveReservations.Reservation
  ) throws -> Bool {
    if let recording {
      resolution.added = try recording.records(addedTo: resolution.unit, in: resolution.store, resolution.permanentIDs)
    }
    var saving = try DerivingSave(resolution.unit.rows.adding(resolution.added), of: context, in: resolution.store)
    guard !saving.request.steps.isEmpty else { return true }
    saving.request.signals = try context.signals(addedTo: resolution.added.signals)
    do {
      resolution.derived = try saving.run(in: resolution.store, by: coordinator)
      return true
    } catch let failure as StoreConflict.Failure {
      // The policy's closure and the reservation may wait for other writers, which need connections.
      context.lease.endOffers()
      try resolution.resolve(failure.conflicts, by: policy)
      // A writer with a reservation may be waiting for this store, which keeps that writer out. A wait for its
      // reservation would never end.
      if !context.lease.excludesWriters { SaveReservations.all.begin(&reservation, with: failure.conflicts.map(\.id)) }
    } catch let error as CoherenceError where resolvesUniqueness && error.outcome == .notApplied {
      context.lease.endOffers()
      try resolve(error, in: &resolution)
    }
    if Task.isCancelled {
      throw CoherenceError(.cancelled, "The task was cancelled while conflicts were resolved.")
    }
    return false
  }

  /// Resolves the refusal of a save by a constraint, or by the key of a stored record.
  ///
  /// - Throws: The error, if it is no refusal by a constraint, and after too many attempts without a record that
  ///   explains it.
  private func resolve(_ error: CoherenceError, in resolution: inout ConflictResolution) throws {
    // The codes with which stores refuse the key of a record that they have: another writer may have restored a record
    // that this save restores.
    let mayConcernKey = error.code == .uniquenessViolated || error.code == .storeCorrupt
    if mayConcernKey, try resolution.resolveRestored(by: policy) { return }
    switch error.code {
    case .uniquenessViolated:
      if try resolution.resolve(error, by: policy) { return }
    case .danglingReference where !resolution.joins.isEmpty:
      // Another writer may have deleted a stored record that inserted records became. They are inserted after all.
      try resolution.separateAll()
    default: throw error
    }
    resolution.uselessAttempts += 1
    if resolution.uselessAttempts > Self.uselessAttempts { throw error }
  }

  /// Writes a unit that lost to other writers again and again, while the store keeps them out: the first attempts meet
  /// the latest conflicts, and the next one succeeds.
  ///
  /// - Returns: Whether the unit was written; `false` also for a store that cannot keep writers out.
  private func saveExcludingWriters(
    _ resolution: inout ConflictResolution, _ reservation: inout SaveReservations.Reservation
  ) throws -> Bool {
    guard resolution.store is any WriterExcluding else { return false }
    return try context.excludingWriters(of: [resolution.store]) {
      for _ in 1...Self.exclusiveAttempts where try save(&resolution, &reservation) { return true }
      return false
    }
  }
}
