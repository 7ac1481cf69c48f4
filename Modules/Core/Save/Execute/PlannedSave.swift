extension ManagedObjectContext {
  /// Runs work that reads rows, plans changes from them and saves the changes; runs it again, from newer rows, when the save
  /// loses a race to another writer.
  ///
  /// The first runs are beside other writers. The last run is while the stores keep other writers out, see
  /// ``WriterExcluding``. A race is a conflict that the merge policy does not resolve, a unique value that another writer
  /// saved before, or a reference to a record that another writer deleted. A record that violates a constraint without
  /// another writer violates it in the last run too, which throws the error. The merge policy resolves no collision of
  /// unique values meanwhile: the next run finds the other record.
  ///
  /// - Parameters:
  ///   - entity: The entity of the work. The stores that hold it keep other writers out.
  ///   - startsExcluding: Whether the stores keep other writers out from the first run on, if all of them are able to.
  ///   - work: Leaves the context without changes when it throws, and can run again.
  /// - Throws: The error of the work. ``ErrorCode/versionConflict`` with ``CoherenceError/isRetryable`` set when the work
  ///   has lost every race, in a store that is not a ``WriterExcluding``.
  package final func planningAgain<T>(
    afterRacesOver entity: EntityDescription, startsExcluding: Bool = false, _ work: () throws -> T
  ) throws -> T {
    // The work reads the present rows, as its save compares them.
    try movingSnapshot { try planning(afterRacesOver: entity, startsExcluding: startsExcluding, work) }
  }

  private final func planning<T>(
    afterRacesOver entity: EntityDescription, startsExcluding: Bool, _ work: () throws -> T
  ) throws -> T {
    let wasPlanningAgain = storage.isPlanningAgain
    storage.isPlanningAgain = true
    defer { storage.isPlanningAgain = wasPlanningAgain }
    let stores = try excludableStores(of: entity)
    var races = RaceCount()
    while stores.isEmpty || !startsExcluding, races.allowsOtherWriters {
      do {
        return try work()
      } catch let error as CoherenceError where error.isLostRace && !hasChanges {
        races.note(error)
        if Task.isCancelled { throw error }
        SaveTurns.pause(after: races.count)
      }
    }
    do {
      return try excludingWriters(of: stores) {
        forgetCleanRows()
        return try work()
      }
    } catch var error as CoherenceError where error.code == .versionConflict {
      error.isRetryable = true
      throw error
    }
  }

  /// The stores that keep other writers out while this context plans and saves. Empty unless all stores of the entity are
  /// able to, and the context saves into them itself: a parent may save on another thread, which the stores would keep out.
  private final func excludableStores(of entity: EntityDescription) throws -> [any PersistentStore] {
    guard parent == nil || savesThroughParent else { return [] }
    let stores = try coordinator().stores(holding: entity)
    return stores.allSatisfy { $0 is any WriterExcluding } ? stores : []
  }
}

/// The races that planned work has lost.
private struct RaceCount {
  private(set) var count = 0
  private var violations = 0

  /// Whether the work runs beside other writers once more. After two violations of a constraint, the work itself is likely
  /// to violate it.
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
