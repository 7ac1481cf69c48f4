import CoherenceCore

extension PersistentContainer {
  /// Runs a block in a background context of its own, without blocking the caller.
  ///
  /// The block saves what it wants to keep; changes that it did not save are gone afterwards. What it answers is
  /// `Sendable`: identifiers and values, not objects.
  ///
  /// - Throws: What the block throws, and `CancellationError` when the task was cancelled before the block began.
  public func performBackgroundTask<T: Sendable>(
    _ body: @escaping @Sendable (BackgroundContext) throws -> T
  ) async throws -> T {
    let context = newBackgroundContext()
    return try await context.perform { try body(context) }
  }

  /// Starts a block in a background context of its own and returns at once.
  ///
  /// The completion is always written, so that `performBackgroundTask { … }` is the form that is awaited wherever it
  /// stands.
  ///
  /// - Parameters:
  ///   - completion: Called in the context after the block, with the error that it threw. With `nil`, an error goes to
  ///     the container's error handler.
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
