extension Lock {
  /// Takes the lock, for the writer of a store. The wait ends after the timeout, and at the latest 50 milliseconds
  /// after the task is cancelled.
  ///
  /// - Parameters:
  ///   - timeout: The longest wait; `nil` for no limit.
  ///   - name: The name of the store, for the error.
  /// - Throws: ``ErrorCode/storeBusy``, retryable, after the timeout; ``ErrorCode/cancelled``.
  package borrowing func lock(timeout: Duration?, of name: @autoclosure () -> String) throws {
    let deadline = timeout.map { ContinuousClock.now + $0 }
    while true {
      let remaining = deadline.map { $0 - ContinuousClock.now } ?? Self.checkInterval
      if lock(within: max(.zero, min(remaining, Self.checkInterval))) { return }
      if Task.isCancelled {
        throw CoherenceError(.cancelled, "The task was cancelled while it waited for other writers of \(name()).")
      }
      if let deadline, ContinuousClock.now >= deadline {
        throw CoherenceError(
          .storeBusy,
          "Other writers of \(name()) took longer than the timeout of the lock; try again, or raise the timeout.",
          isRetryable: true)
      }
    }
  }

  /// The interval between two checks for a cancellation of the task.
  private static var checkInterval: Duration { .milliseconds(50) }
}
