import Synchronization

/// Receives the operations of a stack, to measure and trace it. Set it as ``PersistentStoreCoordinator/observer``.
///
/// Reports never have values of records, predicates or passwords in them. Called on the thread that does the work, so
/// an observer is quick and never uses the stack itself.
public protocol StackObserver: Sendable {
  /// An operation begins on this thread, or in this task.
  func began(_ operation: StackOperation) -> any StackObservation
  /// The scope to carry along when work continues on another thread; `nil` for none.
  func scope() -> (any StackScope)?
}

/// Something that a stack does and that takes time.
public struct StackOperation: Sendable, Hashable {
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A store is opened and attached. The subject is its type.
    case attach
    /// The subject is the name of the entity.
    case fetch
    /// The subject is where the changes go: `stores`, or the `parent` context.
    case save
    /// Records from elsewhere are merged. The subject is the name of the entity.
    case merge
    /// An action is executed, once for each attempt. The subject is its type.
    case action
  }

  public let kind: Kind
  public let subject: String

  public init(_ kind: Kind, _ subject: String) {
    self.kind = kind
    self.subject = subject
  }
}

/// A running operation. Receives its end exactly once.
public protocol StackObservation: StackScope {
  func ended(_ outcome: StackOutcome)
}

/// A place for work, so that operations begun in it are known to be a part of another.
public protocol StackScope: Sendable {
  func run<T>(_ body: () throws -> T) rethrows -> T
  func run<T>(_ body: () async throws -> T) async rethrows -> T
}

/// What became of an operation.
public struct StackOutcome: Sendable {
  /// Numbers of records by their treatment: `fetched`, `inserted`, `updated`, `deleted`, `unchanged`, `skipped`.
  public var records: [String: Int] = [:]
  /// What the operation threw.
  public var error: (any Error)?

  public init(records: [String: Int] = [:], error: (any Error)? = nil) {
    self.records = records
    self.error = error
  }
}

// MARK: - Being observed

/// Whether any stack of the process has an observer: what the others look at, so that it costs them a nanosecond.
enum StackObservers {
  private static let areAny = Atomic<Bool>(false)

  @inline(__always) static var exist: Bool { areAny.load(ordering: .relaxed) }
  static func add() { areAny.store(true, ordering: .relaxed) }
}

extension StackObservation {
  /// Does the operation's work and reports its outcome.
  func told<T>(_ body: () throws -> T, records: (T) -> [String: Int]) rethrows -> T {
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
