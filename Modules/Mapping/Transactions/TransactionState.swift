import CoherenceCore
import Synchronization

/// The state of a running transaction of a context.
///
/// A save in the transaction that throws may have made a part of its changes. If the caller catches the error, the
/// transaction would commit that part. So the transaction remembers the error and fails.
final class TransactionState: Sendable {
  private struct State {
    /// The error of the first part that failed.
    var failure: (any Error)?
    var failsOnConflicts = false
  }
  private let state = Mutex(State())

  /// Runs a part of the transaction. An error of the part fails the transaction.
  func failing<T>(_ part: () throws -> T) throws -> T {
    do {
      return try part()
    } catch {
      state.withLock { $0.failure = $0.failure ?? error }
      throw error
    }
  }

  /// - Throws: The error of the first part that failed.
  func check() throws {
    if let error = state.withLock({ $0.failure }) { throw error }
  }

  /// Whether a conflict with another writer fails the transaction, regardless of the merge policy.
  var failsOnConflicts: Bool { state.withLock { $0.failsOnConflicts } }

  /// Makes conflicts fail the transaction. Required for synchronisation marks: a merge by property would give one
  /// writer's edit the mark "uploaded" of another writer.
  func failOnConflicts() { state.withLock { $0.failsOnConflicts = true } }

  // MARK: Running transactions

  /// The running transactions by context, of all managers, because two managers may share a container.
  private static let running = Mutex<[ObjectIdentifier: TransactionState]>([:])

  /// Returns the running transaction of a context, if the caller is inside the context, and so inside the transaction.
  static func of(_ context: ManagedObjectContext) -> TransactionState? {
    guard context.isIsolatingCurrentContext() == true else { return nil }
    return running.withLock { $0[ObjectIdentifier(context)] }
  }

  /// Runs the transaction's work in a context that the caller is inside.
  func run<T>(in context: ManagedObjectContext, _ work: () throws -> T) rethrows -> T {
    let key = ObjectIdentifier(context)
    Self.running.withLock { $0[key] = self }
    defer { _ = Self.running.withLock { $0.removeValue(forKey: key) } }
    return try work()
  }
}
