import CoherenceCore
import Synchronization

/// What is to become of a transaction that is at work in a context.
///
/// A save that fails may have done a part of its work already. Who catches its error inside of a transaction would have
/// that part saved with the rest; the transaction fails instead.
final class TransactionFate: Sendable {
  private struct State {
    var failure: (any Error)?
    var isStrict = false
  }
  private let state = Mutex(State())

  /// Does a part of the transaction, which fails with it.
  func deciding<T>(_ part: () throws -> T) throws -> T {
    do {
      return try part()
    } catch {
      state.withLock { $0.failure = $0.failure ?? error }
      throw error
    }
  }

  /// - Throws: What the first part that failed threw.
  func check() throws {
    if let error = state.withLock({ $0.failure }) { throw error }
  }

  /// Whether a conflict with another writer fails the transaction, whatever the merge policy.
  var isStrict: Bool { state.withLock { $0.isStrict } }

  /// Is called for what sets marks of synchronisation: merged property by property, an edit would get the mark of another
  /// writer, that it was uploaded.
  func demandStrictness() { state.withLock { $0.isStrict = true } }

  // MARK: Transactions at work

  /// The transactions at work by context, in all managers: two may share a container.
  private static let open = Mutex<[ObjectIdentifier: TransactionFate]>([:])

  /// The transaction at work in a context that the caller is in: then it is the caller's own.
  static func of(_ context: ManagedObjectContext) -> TransactionFate? {
    guard context.isIsolatingCurrentContext() == true else { return nil }
    return open.withLock { $0[ObjectIdentifier(context)] }
  }

  /// Does the work of the transaction, in a context that the caller is in.
  func begin<T>(in context: ManagedObjectContext, _ work: () throws -> T) rethrows -> T {
    let key = ObjectIdentifier(context)
    Self.open.withLock { $0[key] = self }
    defer { _ = Self.open.withLock { $0.removeValue(forKey: key) } }
    return try work()
  }
}
