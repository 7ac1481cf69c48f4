import CoherenceCore

extension PersistentContainer {
  /// Runs a block in a background context of its own, without blocking the caller.
  ///
  /// The block has to save its changes; unsaved changes are lost at its end. The result is `Sendable`: identifiers and
  /// values, not objects.
  ///
  /// - Parameter body: Called once, in the context.
  /// - Returns: The result of the block.
  /// - Throws: The error of the block; `CancellationError` when the task was cancelled before the block began.
  public func performBackgroundTask<T: Sendable>(
    _ body: @escaping @Sendable (BackgroundContext) throws -> T
  ) async throws -> T {
    let context = newBackgroundContext()
    return try await context.perform { try body(context) }
  }

  /// Starts a block in a background context of its own and returns at once.
  ///
  /// The completion has no default, so that `performBackgroundTask { … }` always means the asynchronous form.
  ///
  /// - Parameters:
  ///   - body: Called once, in the context. Unsaved changes are lost at its end.
  ///   - completion: Called in the context after the block, with `nil` or the error of the block. Without a completion, the
  ///     container's error handler receives the error.
  public func performBackgroundTask(
    _ body: @escaping @Sendable (BackgroundContext) throws -> Void,
    completion: (@Sendable ((any Error)?) -> Void)?
  ) {
    let context = newBackgroundContext()
    context.perform(onError: completion ?? errorHandler) {
      try body(context)
      completion?(nil)
    }
  }
}
