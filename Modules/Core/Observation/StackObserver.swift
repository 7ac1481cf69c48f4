import Synchronization

/// Receives the operations of a stack, to measure and trace it. Set it as ``PersistentStoreCoordinator/observer``.
///
/// Reports never contain values of records, predicates or passwords. The methods are called on the thread that does the
/// work: an observer must return quickly and must not use the stack.
public protocol StackObserver: Sendable {
  /// An operation begins on this thread, or in this task.
  func began(_ operation: StackOperation) -> any StackObservation
  /// The present scope, to be restored when work continues on another thread; `nil` for none.
  func scope() -> (any StackScope)?
  /// A number of the stack has a value now. An observer without this function ignores the numbers.
  func measured(_ gauge: StackGauge)
}

extension StackObserver {
  /// Ignores the number.
  public func measured(_ gauge: StackGauge) {}
}

/// A number that goes up and down, such as the number of waiting entries of an outbox.
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
    /// The subject is the name of the entity.
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

/// A running operation. Receives its end exactly once.
public protocol StackObservation: StackScope {
  /// Receives the end of the operation. Called once.
  func ended(_ outcome: StackOutcome)
}

/// A scope in which operations count as parts of an enclosing operation.
public protocol StackScope: Sendable {
  func run<T>(_ body: () throws -> T) rethrows -> T
  func run<T>(_ body: () async throws -> T) async rethrows -> T
}

/// The outcome of an operation.
public struct StackOutcome: Sendable {
  /// Numbers of records by their treatment: `fetched`, `inserted`, `updated`, `deleted`, `unchanged`, `skipped`; for
  /// edits that were sent to a server: `accepted`, `rejected`, `conflicting`, `postponed`, `failed`.
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

/// Whether any stack of the process ever had an observer. Stacks without one check this flag, which costs a nanosecond.
enum StackObservers {
  private static let areAny = Atomic<Bool>(false)

  @inline(__always) static var exist: Bool { areAny.load(ordering: .relaxed) }
  static func add() { areAny.store(true, ordering: .relaxed) }
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
