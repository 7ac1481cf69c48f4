package import CoherenceCore

/// Runs work that plans changes from stored rows and saves them, and repeats the work from the newer rows after a lost
/// race to another writer.
package struct PlanningRetry {
  /// The contexts that the work saves: the context of the changes first, then its parents, if the work saves them too.
  private let contexts: [ManagedObjectContext]

  /// - Parameter savesParents: Whether the work saves the context's parents too, up to the stores.
  package init(in context: ManagedObjectContext, savesParents: Bool) {
    contexts = savesParents ? context.savedContexts : [context]
  }

  /// Runs work that plans and saves changes, and repeats it after a lost race. With other changes in the contexts the
  /// work runs once, and the stores keep no writers out: other changes cannot be planned again, and a rollback would
  /// lose them.
  ///
  /// - Parameters:
  ///   - entity: The entity of the rows. Its stores keep other writers out during the last attempt, if all of them can
  ///     and the context of the changes saves to them itself, not with the save of its parent.
  ///   - startsExcluding: Whether the stores keep other writers out from the first attempt on, under the same
  ///     conditions.
  ///   - work: Leaves the contexts without changes when it throws; see ``rollingBackOnError(_:)``.
  /// - Throws: The error of the work; ``ErrorCode/versionConflict`` with `isRetryable` set when the repeated work lost
  ///   every race.
  package func planningAgain<T>(
    afterRacesOver entity: EntityDescription, startsExcluding: @autoclosure () throws -> Bool = false,
    _ work: () throws -> T
  ) throws -> T {
    guard areClean else { return try work() }
    return try contexts[0].planningAgain(afterRacesOver: entity, startsExcluding: startsExcluding(), work)
  }

  /// Runs work. After an error, the contexts without changes before the work are rolled back.
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
  /// The context and the parents that a save up to the stores passes through. A context with
  /// ``ManagedObjectContext/savesPastParent`` reaches the stores itself, past its parents.
  package var savedContexts: [ManagedObjectContext] {
    [self] + (savesPastParent ? [] : parent?.savedContexts ?? [])
  }
}
