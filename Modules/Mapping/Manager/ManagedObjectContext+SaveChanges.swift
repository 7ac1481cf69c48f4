public import CoherenceCore

/// Is told how a save ended: the error, or `nil`.
public typealias SaveCompletion = @Sendable ((any Error)?) -> Void

extension ManagedObjectContext {
  /// Saves on the context's queue and goes on with its parents, up to the stores. Without changes a context saves nothing,
  /// and its parents are visited all the same. A context that saves through its parent leaves the parent's own edits
  /// unsaved.
  ///
  /// - Parameter completion: Called on the queue of the context that was visited last, also when the caller has let the
  ///   context go meanwhile. What was saved into a parent before an error stays there, unsaved.
  public final func saveChanges(_ completion: SaveCompletion? = nil) {
    perform(onError: { completion?($0) }) {
      if let parent = try self.saveOneLevel() { parent.saveChanges(completion) } else { completion?(nil) }
    }
  }

  /// The same without a completion: returns when the changes are in the stores.
  ///
  /// - Throws: As `save`, and `CancellationError` when the task was cancelled before the save began.
  public final func saveChanges() async throws {
    var context = self
    while let parent = try await context.perform({ [context] in try context.saveOneLevel() }) { context = parent }
  }

  /// The same, waiting: may be called anywhere but for contexts of other threads.
  ///
  /// - Throws: As `save`.
  public final func saveChangesAndWait() throws {
    try performAndWait { try self.saveOneLevel() }?.saveChangesAndWait()
  }

  /// Saves, and answers the context that is to be saved next.
  final func saveOneLevel() throws -> ManagedObjectContext? {
    if hasChanges { try save() }
    return savesThroughParent ? nil : parent
  }
}
