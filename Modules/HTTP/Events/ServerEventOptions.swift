/// The settings of a stream of server-sent events.
public struct ServerEventOptions: Sendable {
  /// The identifier of the last event that the program has handled, from which the server continues; empty for none. Store
  /// ``ServerEvent/id`` together with the effect of an event, to continue after a restart.
  public var lastEventID = ""
  /// The delay before a reconnection, until the server asks for another one; at least 100 milliseconds.
  public var reconnectionTime = Duration.seconds(3)
  /// The longest delay before a reconnection, unless ``reconnectionTime`` or the server asks for a longer one, by the
  /// field `retry` of the stream or by `Retry-After`. The delay
  /// doubles with each failure without an event in between.
  public var longestDelay = Duration.seconds(60)
  /// The number of failures without an event in between after which the stream throws; `nil` for no limit.
  public var maximumFailures: Int?
  /// The longest time without a byte of the server, comments included, after which the connection counts as broken; `nil`
  /// for the limit of the client alone. A server sends a comment from time to time to keep a connection.
  public var deadline: Duration? = .seconds(60)
  /// The maximum number of bytes in an event.
  public var limit = 1 << 20
  /// The clock of delays and deadlines.
  public var clock: any HTTPClock = .system
  /// The source of the jitter, by which up to half of a delay is left out after failures: returns numbers from 0 to below 1.
  public var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

  /// Makes the default settings.
  public init() {}

  /// The delay before the next connection.
  func delay(_ reconnectionTime: Duration?, failures: Int) -> Duration {
    // A time of zero, which a server may ask for, would neither wait nor double.
    let base = max(reconnectionTime ?? self.reconnectionTime, .milliseconds(100))
    // The first reconnection keeps the server's own time; twenty doublings exceed every sensible maximum.
    guard failures > 1 else { return base }
    return min(base * Double(1 << min(failures - 1, 20)), max(longestDelay, base)) * (1 - random() / 2)
  }
}
