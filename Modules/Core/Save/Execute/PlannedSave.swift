extension ManagedObjectContext {
  /// Does work that reads, plans changes from the rows that it read, and saves them; again, from newer rows, when the save
  /// loses a race to another writer.
  ///
  /// The work is done beside other writers at first, and the last time while the stores keep other writers out, see
  /// ``WriterExcluding``. A race is a conflict that the merge policy does not resolve, a unique value that another writer
  /// was faster to save, or a reference to a record that another writer deleted. A record that violates a constraint by
  /// itself does so the last time too, and that error is thrown.
  ///
  /// - Parameters:
  ///   - entity: The entity of the work. The stores that hold it keep other writers out.
  ///   - startsExcluding: Whether the stores keep other writers out from the first time on, if they are able to.
  ///   - work: Leaves the context without changes when it throws, and can be done again.
  /// - Throws: What the work throws. ``ErrorCode/versionConflict`` with ``CoherenceError/isRetryable`` set when the
  ///   work has lost every race, with a store that is not able to keep writers out.
  package final func planningAgain<T>(
    afterRacesOver entity: EntityDescription, startsExcluding: Bool = false, _ work: () throws -> T
  ) throws -> T {
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

  /// The stores that can keep other writers out while this context plans and saves; none unless all stores of the entity
  /// can, and the context saves into them itself. A parent may have to save on another thread, which would be kept out.
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

  /// Whether the work is done beside other writers once more. A constraint that is violated twice is violated by the work
  /// itself as a rule.
  var allowsOtherWriters: Bool { count < 3 && violations < 2 }

  mutating func note(_ error: CoherenceError) {
    count += 1
    if error.code != .versionConflict { violations += 1 }
  }
}

extension CoherenceError {
  /// Whether the error may come of what another writer saved between the reading and the save.
  fileprivate var isLostRace: Bool {
    let codes: Set<ErrorCode> = [.versionConflict, .uniquenessViolated, .danglingReference]
    return codes.contains(code) && outcome == .notApplied
  }
}
