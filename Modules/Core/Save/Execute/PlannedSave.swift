extension ManagedObjectContext {
  /// Runs work that reads rows, plans changes from them and saves the changes. When the save loses a race to another
  /// writer, the work runs again from newer rows.
  ///
  /// Other writers may write during the first three runs. During the last run the stores keep other writers out, if all
  /// of them can, see ``WriterExcluding``. A race is a conflict that the merge policy does not resolve, a unique value
  /// that another writer saved first, or a reference to a record that another writer deleted. The last run throws its
  /// errors: no other writer has caused them, if the stores keep other writers out. During all runs the merge policy
  /// resolves no collision of unique values, because the next run finds the other record.
  ///
  /// - Parameters:
  ///   - entity: The entity of the records to save. The writable stores that hold it keep other writers out.
  ///   - startsExcluding: Whether the stores keep other writers out from the first run on, if all of them can.
  ///   - work: The work. It must be repeatable, and must leave the context without changes when it throws.
  /// - Throws: The error of the work. ``ErrorCode/versionConflict`` is marked as ``CoherenceError/isRetryable``: it
  ///   remains only in stores without ``WriterExcluding``, after the work has lost every race.
  package final func planningAgain<T>(
    afterRacesOver entity: EntityDescription, startsExcluding: Bool = false, _ work: () throws -> T
  ) throws -> T {
    // The work reads the present rows, as its save compares them.
    try movingSnapshot { try planning(afterRacesOver: entity, startsExcluding: startsExcluding, work) }
  }

  private final func planning<T>(
    afterRacesOver entity: EntityDescription, startsExcluding: Bool, _ work: () throws -> T
  ) throws -> T {
    let wasPlanningAgain = storage.callbacks.isPlanningAgain
    storage.callbacks.isPlanningAgain = true
    defer { storage.callbacks.isPlanningAgain = wasPlanningAgain }
    let stores = try excludableStores(of: entity)
    var races = RaceCount()
    while stores.isEmpty || !startsExcluding, races.allowsOtherWriters {
      do {
        return try work()
      } catch let error as CoherenceError where error.isLostRace && !hasChanges {
        races.note(error)
        if Task.isCancelled { throw error }
        SaveReservations.pause(after: races.count)
      }
    }
    do {
      return try excludingWriters(of: stores) {
        // Other writers may have changed the rows that earlier runs read.
        forgetCleanRows()
        return try work()
      }
    } catch var error as CoherenceError where error.code == .versionConflict {
      error.isRetryable = true
      throw error
    }
  }

  /// The stores that keep other writers out during the last run: the writable stores of the entity. Empty unless
  /// all these stores can keep writers out and the context saves into them itself: a parent may save on another thread,
  /// which the stores would keep out.
  private final func excludableStores(of entity: EntityDescription) throws -> [any PersistentStore] {
    guard parent == nil || savesPastParent else { return [] }
    let stores = try coordinator().stores(holding: entity).filter { store in
      !store.environment.isReadOnly && storeIdentifiers?.contains(store.identifier) != false
    }
    return stores.allSatisfy { $0 is any WriterExcluding } ? stores : []
  }
}

/// The races that planned work has lost.
private struct RaceCount {
  private(set) var count = 0
  private var violations = 0

  /// Whether the work runs once more while other writers may write. Two violations of a constraint are likely the
  /// work's own.
  var allowsOtherWriters: Bool { count < 3 && violations < 2 }

  mutating func note(_ error: CoherenceError) {
    count += 1
    if error.code != .versionConflict { violations += 1 }
  }
}

extension CoherenceError {
  /// Whether a save of another writer, between the reading and the save of the work, may have caused the error.
  fileprivate var isLostRace: Bool {
    let codes: Set<ErrorCode> = [.versionConflict, .uniquenessViolated, .danglingReference]
    return codes.contains(code) && outcome == .notApplied
  }
}
