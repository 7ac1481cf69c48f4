/// A queue that a worker takes actions from, with the worker's limit for it.
public struct PersistedActionQueue: Sendable, Hashable, ExpressibleByStringLiteral {
  /// The queue of actions without a queue of their own: `default`.
  public static let defaultName = "default"

  /// The name of the queue.
  public let name: String
  /// The maximum number of the queue's actions that the worker runs at once; `nil` for the worker's own limit alone.
  public let concurrency: Int?

  /// Makes a queue.
  ///
  /// - Parameter concurrency: The worker's limit for the queue; a number below one counts as one.
  public init(_ name: String, concurrency: Int? = nil) {
    self.name = name
    self.concurrency = concurrency.map { max(1, $0) }
  }
  /// Makes a queue without a limit of its own.
  public init(stringLiteral name: String) { self.init(name) }
}
