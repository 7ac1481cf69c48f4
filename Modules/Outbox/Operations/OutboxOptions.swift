public import Foundation

/// The settings of an ``Outbox``.
public struct OutboxOptions: Sendable {
  /// The clock that dates entries and decides which attempts are due. Called on any thread.
  public var now: @Sendable () -> Date
  /// The confirmed edits of the process. Tests give one process the outboxes of several.
  var confirmations = Confirmations.shared

  /// Makes settings.
  public init(now: @escaping @Sendable () -> Date = { Date() }) { self.now = now }
}
