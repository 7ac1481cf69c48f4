package import CoherenceCore

/// Changes that are planned from stored rows and saved. When the save loses a race to another writer, the changes are
/// planned again from the newer rows.
package struct PlannedChanges {
  /// The contexts that the save passes through: the context of the changes first, then its parents.
  private let contexts: [ManagedObjectContext]

  /// - Parameter savesParents: Whether the save goes on to the context's parents, up to the stores.
  package init(in context: ManagedObjectContext, savesParents: Bool) {
    contexts = savesParents ? context.savedLineage : [context]
  }

  /// Does work that plans changes and saves them, and repeats the work after a lost race. In contexts that have other
  /// changes the work is done once: other changes cannot be planned again, and a rollback would lose them.
  ///
  /// - Parameters:
  ///   - entity: The entity of the rows. Its stores keep other writers out while the work is done the last time.
  ///   - startsExcluding: Whether the stores keep other writers out from the first time on.
  ///   - work: Leaves the contexts without changes when it throws; see ``rollingBackOnError(_:)``.
  /// - Throws: The error of the work; ``ErrorCode/versionConflict`` with `isRetryable` set when the work lost every race.
  package func planningAgain<T>(
    afterRacesOver entity: EntityDescription, startsExcluding: @autoclosure () throws -> Bool = false,
    _ work: () throws -> T
  ) throws -> T {
    guard areClean else { return try work() }
    return try contexts[0].planningAgain(afterRacesOver: entity, startsExcluding: startsExcluding(), work)
  }

  /// Does work. After an error, the contexts that had no changes before are rolled back.
  package func rollingBackOnError<T>(_ work: () throws -> T) throws -> T {
    let clean = contexts.filter(Self.isClean)
    do {
      return try work()
    } catch {
      for context in clean { context.performAndWait { context.rollback() } }
      throw error
    }
  }

  private var areClean: Bool { contexts.allSatisfy(Self.isClean) }

  private static func isClean(_ context: ManagedObjectContext) -> Bool {
    context.performAndWait { !context.hasChanges }
  }
}

extension ManagedObjectContext {
  /// The context and the parents that a save up to the stores passes through.
  package var savedLineage: [ManagedObjectContext] {
    [self] + (savesThroughParent ? [] : parent?.savedLineage ?? [])
  }
}
