/// The maximum number of simultaneous actions that share a name, over all queues: for example, of actions that access one
/// host.
///
/// ```swift
/// extension ConcurrencyLimit {
///   static let catalogue = ConcurrencyLimit("catalogue.example.com", 2)
/// }
/// ```
///
/// A limit counts within one Connect. If limits of one name have different maxima, the maximum of the latest action
/// that asked for a slot counts: an action asks when its dependencies have finished. It asks again for each further
/// attempt, which leaves the maximum as it is. When an action raises the maximum, the slots go to the waiting actions by
/// priority, then in the order in which they asked.
public struct ConcurrencyLimit: Sendable, Hashable {
  /// The name that the limited actions share.
  public let name: String
  /// The maximum number of simultaneous actions; at least one.
  public let maximum: Int

  /// Makes a limit.
  ///
  /// - Parameter maximum: A number below one counts as one.
  public init(_ name: String, _ maximum: Int) {
    self.name = name
    self.maximum = max(1, maximum)
  }
}
