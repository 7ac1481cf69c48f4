/// How many actions that share a name may run at once, over all queues: actions that access one host, say.
///
/// ```swift
/// extension ConcurrencyLimit {
///   static let catalogue = ConcurrencyLimit("catalogue.example.com", 2)
/// }
/// ```
///
/// The limit is that of one Connect. Where actions of one name differ in their maximum, that of the latest counts.
public struct ConcurrencyLimit: Sendable, Hashable {
  public let name: String
  /// At least one.
  public let maximum: Int

  /// - Parameter maximum: A number below one counts as one.
  public init(_ name: String, _ maximum: Int) {
    self.name = name
    self.maximum = max(1, maximum)
  }
}
