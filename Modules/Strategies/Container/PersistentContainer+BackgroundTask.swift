import CoherenceCore
import Logging

extension PersistentContainer {
  /// Runs a block in a background context of its own, without blocking the caller.
  ///
  /// The block has to save its changes: unsaved changes are lost at its end, with a warning in the log unless the block
  /// throws or the task is cancelled. The result is `Sendable`: identifiers and values, not objects.
  ///
  /// - Parameter body: Called once, in the context.
  /// - Returns: The result of the block.
  /// - Throws: The error of the block; `CancellationError` when the task was cancelled before the block began.
  public func performBackgroundTask<T: Sendable>(
    _ body: @escaping @Sendable (BackgroundContext) throws -> T
  ) async throws -> T {
    let context = newBackgroundContext()
    let logger = persistentStoreCoordinator.logger
    return try await context.perform {
      let result = try body(context)
      // A cancelled task gets no warning: its end was requested before it could save.
      if !Task.isCancelled { context.noteUnsavedChanges(in: logger) }
      return result
    }
  }

  /// Starts a block in a background context of its own and returns at once.
  ///
  /// The completion has no default, so that `performBackgroundTask { … }` always means the asynchronous form.
  ///
  /// - Parameters:
  ///   - body: Called once, in the context. Unsaved changes are lost at its end, with a warning in the log unless the
  ///     block throws.
  ///   - completion: Called in the context after the block, with `nil` or the error of the block. Without a completion,
  ///     the container's error handler receives the error.
  public func performBackgroundTask(
    _ body: @escaping @Sendable (BackgroundContext) throws -> Void,
    completion: (@Sendable ((any Error)?) -> Void)?
  ) {
    let context = newBackgroundContext()
    let logger = persistentStoreCoordinator.logger
    context.perform(onError: completion ?? errorHandler) {
      try body(context)
      context.noteUnsavedChanges(in: logger)
      completion?(nil)
    }
  }
}

extension BackgroundContext {
  /// Logs a warning if a task has ended without an error and without a save of its last changes. The context of the
  /// task is released, and its changes are lost without an error.
  fileprivate final func noteUnsavedChanges(in logger: Logger) {
    guard hasUnsavedRecords else { return }
    logger.warning(
      """
      A background task has ended with changes in its context that it has not saved, and they are lost. Call `save()` in \
      the task, or `rollback()` where the changes are not wanted.
      """)
  }
}
