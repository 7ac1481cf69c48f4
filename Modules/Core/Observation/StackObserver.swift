import Synchronization

/// Receives the operations of a stack, to measure and trace it. Set it as ``PersistentStoreCoordinator/observer``.
///
/// Reports never contain values of records, predicates or passwords. The methods are called on the thread that does the
/// work: an observer must return quickly and must not use the stack.
public protocol StackObserver: Sendable {
  /// Called when an operation begins on this thread, or in this task.
  ///
  /// - Returns: The observation of the operation, which receives the operation's end.
  func began(_ operation: StackOperation) -> any StackObservation
  /// Returns the scope of the calling thread or task, so that the stack can restore it where the work continues on
  /// another thread; `nil` for none.
  func scope() -> (any StackScope)?
  /// Called when a number of the stack, such as the length of an outbox, has a new value. The default implementation
  /// ignores the number.
  func measured(_ gauge: StackGauge)
}

extension StackObserver {
  /// Ignores the number.
  public func measured(_ gauge: StackGauge) {}
}

/// A number that rises and falls, such as the number of waiting entries of an outbox.
public struct StackGauge: Sendable, Hashable {
  /// The name of the number: `outbox.entries` or `persistedActions`.
  public let name: String
  /// The state of the counted records.
  public let state: String
  /// The number of records in the state.
  public let value: Int

  /// Makes a gauge.
  public init(_ name: String, state: String, _ value: Int) {
    self.name = name
    self.state = state
    self.value = value
  }
}

/// An operation of a stack whose duration is worth measuring.
public struct StackOperation: Sendable, Hashable {
  /// The kind of an operation.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A store is opened and attached. The subject is its type.
    case attach
    /// A context fetches objects or values, computes aggregates, or fetches members of a relationship. Counts are not
    /// reported. The subject is the name of the entity.
    case fetch
    /// Changes are saved. The subject is the destination: `stores`, or the `parent` context.
    case save
    /// Records from an outside source are merged into a context. The subject is the name of the entity.
    case merge
    /// An action is executed, once for each attempt. The subject is its type.
    case action
    /// A handler of an outbox sends an edit or a batch of edits to a server. The subject is the name of the entity.
    case forward
    /// A persisted action is executed, once for each attempt. The subject is its name.
    case persistedAction
    /// The records of an entity are refreshed from their source, once for each attempt. The subject is the name of the
    /// entity.
    case refresh
  }

  /// The kind of the operation.
  public let kind: Kind
  /// The subject of the operation, as described at each ``Kind``.
  public let subject: String

  /// Makes an operation of a kind on a subject.
  public init(_ kind: Kind, _ subject: String) {
    self.kind = kind
    self.subject = subject
  }
}

/// A running operation of a stack. Its work runs in the scope of the observation.
public protocol StackObservation: StackScope {
  /// Called exactly once, when the operation ends.
  func ended(_ outcome: StackOutcome)
}

/// A scope in which operations count as parts of an enclosing operation, such as the span of a trace.
public protocol StackScope: Sendable {
  /// Runs a block in the scope.
  func run<T>(_ body: () throws -> T) rethrows -> T
  /// Runs an asynchronous block in the scope, on all threads that the block continues on.
  func run<T>(_ body: () async throws -> T) async rethrows -> T
}

/// The outcome of an operation.
public struct StackOutcome: Sendable {
  /// The numbers of records by their treatment: `fetched`, `inserted`, `updated`, `deleted`, `unchanged`, `skipped`;
  /// for edits sent to a server: `accepted`, `rejected`, `conflicting`, `postponed`, `failed`.
  public var records: [String: Int] = [:]
  /// The error that the operation threw; `nil` after a success.
  public var error: (any Error)?

  /// Makes an outcome from numbers of records and an error.
  public init(records: [String: Int] = [:], error: (any Error)? = nil) {
    self.records = records
    self.error = error
  }
}

// MARK: - Being observed

/// Records whether any stack of the process ever had an observer. Each operation checks the flag, which costs a
/// nanosecond, before it looks for the observer of its stack.
enum StackObservers {
  private static let haveExisted = Atomic<Bool>(false)

  @inline(__always) static var exist: Bool { haveExisted.load(ordering: .relaxed) }
  static func add() { haveExisted.store(true, ordering: .relaxed) }
}

extension StackObservation {
  /// Runs the operation's work and reports its outcome.
  func reportingOutcome<T>(_ body: () throws -> T, records: (T) -> [String: Int]) rethrows -> T {
    do {
      let result = try run(body)
      ended(StackOutcome(records: records(result)))
      return result
    } catch {
      ended(StackOutcome(error: error))
      throw error
    }
  }
}
