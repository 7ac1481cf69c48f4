/// A queue from which a worker claims actions, with the worker's limit for the queue.
public struct PersistedActionQueue: Sendable, Hashable, ExpressibleByStringLiteral {
  /// The name of the queue for actions whose type and enqueueing name no queue: `default`.
  public static let defaultName = "default"

  /// The name of the queue.
  public let name: String
  /// The maximum number of the queue's actions that the worker runs concurrently; `nil` for no limit but the worker's.
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
