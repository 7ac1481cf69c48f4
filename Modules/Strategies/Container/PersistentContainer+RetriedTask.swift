public import CoherenceCore
import Foundation

extension PersistentContainer {
  /// Runs a block in a background context of its own and saves the context, without blocking the caller; runs the block
  /// again, in a new context, when the attempt fails by a reason that another attempt can change.
  ///
  /// ```swift
  /// try await container.performBackgroundTask(retrying: .lostRaces) { context, attempt in
  ///   let account = try context.existingObject(with: id, as: Account.self)
  ///   account.balance -= 10
  /// }
  /// ```
  ///
  /// **The block may run several times**, so it must not have effects elsewhere: it sends no message, changes no state
  /// outside of its context, and saves no other context. It fetches every object in the context that it gets, and need
  /// not save; a last save follows it in the same attempt.
  ///
  /// Another attempt follows these errors, of the save and of the block alike:
  ///
  /// - a race lost to another writer: ``ErrorCode/versionConflict`` and ``ErrorCode/recordVanished``;
  /// - the first ``ErrorCode/uniquenessViolated`` or ``ErrorCode/danglingReference`` of the task, which a lost race may
  ///   have caused. A second violation counts as an error of the block itself;
  /// - every other ``CoherenceError`` with ``CoherenceError/isRetryable`` set, apart from the exceptions below:
  ///   serialization failures, deadlocks and locks (``ErrorCode/storeBusy``), no free connection, and a connection that
  ///   broke before the commit was sent;
  /// - ``ErrorCode/objectUnavailable`` with one of these errors as its ``CoherenceError/underlying`` error.
  ///
  /// **No attempt follows** any other error, for example an error other than a ``CoherenceError``. No attempt follows
  /// ``ErrorCode/partialSave``, a refused validation or delete, or a cancellation, even with
  /// ``CoherenceError/isRetryable`` set. No attempt follows after a possible write either: the error's
  /// ``CoherenceError/outcome`` is not ``SaveOutcome/notApplied``, or the failed attempt's context has committed a
  /// save, a batch request or a claim of the block. Nothing is therefore written twice.
  ///
  /// Attempts under a lock of the records lose no race; see ``ManagedObjectContext/withLock(on:timeout:_:)``. A change
  /// such as `balance - 10` of many records needs neither: a ``BatchUpdateRequest`` calculates it in the store.
  ///
  /// - Parameters:
  ///   - policy: The number of attempts and the delays between them; ``RetryPolicy/lostRaces`` fits most tasks. The
  ///     policy's ``RetryPolicy/isRetryable`` can refuse further attempts, and is asked only about errors that another
  ///     attempt can change, with ``CoherenceError/isRetryable`` set. An error with ``RetryAdvising`` sets the shortest
  ///     delay.
  ///   - body: Called once for each attempt, in the context of the attempt, with the number of the attempt; the first
  ///     is 1.
  /// - Returns: The block's result in the attempt whose save committed.
  /// - Throws: The error of the last attempt, as it was thrown; `CancellationError` when the task was cancelled before
  ///   the first attempt or between two attempts.
  public func performBackgroundTask<T: Sendable>(
    retrying policy: RetryPolicy, _ body: @escaping @Sendable (BackgroundContext, _ attempt: Int) throws -> T
  ) async throws -> T {
    var attempt = RetriedAttempt(policy)
    while true {
      let context = newBackgroundContext()
      do {
        let number = attempt.number
        return try await context.perform {
          let result = try body(context, number)
          try context.save()
          return result
        }
      } catch {
        guard !context.mayHaveCommitted, attempt.canRepeat(after: error) else { throw error }
        try Task.checkCancellation()
        let delay = attempt.delay(after: error)
        if delay > .zero { try await Task.sleep(for: delay.limitedForSleep) }
        attempt.next()
      }
    }
  }
}

/// An attempt of a background task, and the decision about the next one.
private struct RetriedAttempt {
  private let policy: RetryPolicy
  /// The number of the attempt; the first is 1.
  private(set) var number = 1
  /// The number of attempts that violated a constraint.
  private var violations = 0

  init(_ policy: RetryPolicy) { self.policy = policy }

  /// Returns whether another attempt may follow a failed attempt without any writes. Counts violated constraints; call
  /// it once for each failed attempt.
  mutating func canRepeat(after error: any Error) -> Bool {
    guard number < policy.attempts, var error = error as? CoherenceError, mayPassInNewContext(error) else {
      return false
    }
    // A policy such as the default one refuses every other error. A lost race is not retryable in the failed context,
    // but the next attempt has a new context.
    error.isRetryable = true
    return policy.isRetryable(error)
  }

  /// The delay before the next attempt.
  func delay(after error: any Error) -> Duration {
    policy.delay(afterAttempt: number, throwing: error, at: Date())
  }

  /// Begins the next attempt.
  mutating func next() { number += 1 }

  /// Returns whether another attempt, in a new context, may succeed. Counts a violated constraint.
  private mutating func mayPassInNewContext(_ error: CoherenceError) -> Bool {
    guard error.outcome == .notApplied else { return false }
    switch error.code {
    case .partialSave, .cancelled, .validationFailed, .deleteDenied: return false
    case .versionConflict, .recordVanished: return true
    case .uniquenessViolated, .danglingReference:
      violations += 1
      return violations < 2
    case .objectUnavailable:
      guard let cause = error.underlying as? CoherenceError else { return false }
      return mayPassInNewContext(cause)
    default: return error.isRetryable
    }
  }
}
