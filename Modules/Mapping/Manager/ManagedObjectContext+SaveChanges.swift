public import CoherenceCore

/// Receives the error of a save, or `nil` after a successful save.
public typealias SaveCompletion = @Sendable ((any Error)?) -> Void

extension ManagedObjectContext {
  /// Saves on the context's queue, then its parents, up to the stores. Parents are saved even if the context itself has
  /// no changes. A context with `savesPastParent` reaches the stores itself, so its parents are not saved.
  ///
  /// - Parameter completion: Called once, on the queue of the last context, even if the caller has released the
  ///   context. After an error, the changes that reached a parent stay there, unsaved.
  public final func saveChanges(_ completion: SaveCompletion? = nil) {
    perform(onError: { completion?($0) }) {
      if let parent = try self.saveOneLevel() { parent.saveChanges(completion) } else { completion?(nil) }
    }
  }

  /// Saves the context and its parents, and returns when the changes are in the stores; see ``saveChanges(_:)``.
  ///
  /// - Throws: As `save`, and `CancellationError` when the task was cancelled before the save of the context or of a
  ///   parent began. Changes that reached a parent stay there, unsaved.
  public final func saveChanges() async throws {
    var context = self
    while let parent = try await context.perform({ [context] in try context.saveOneLevel() }) { context = parent }
  }

  /// Saves the context and its parents, and blocks until the changes are in the stores; see ``saveChanges(_:)``. May be
  /// called on any thread, except for a context that belongs to another thread.
  ///
  /// - Throws: As `save`.
  public final func saveChangesAndWait() throws {
    try performAndWait { try self.saveOneLevel() }?.saveChangesAndWait()
  }

  /// Saves this context alone, and returns the parent to save next; `nil` when the changes are in the stores.
  final func saveOneLevel() throws -> ManagedObjectContext? {
    if hasChanges { try save() }
    return savesPastParent ? nil : parent
  }
}
