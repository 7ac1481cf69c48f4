/// An event that a server has sent.
public struct ServerEvent: Sendable, Hashable {
  /// The type of the event; `message` for an event without a type.
  public var type: String
  /// The lines of the event's data, joined by line feeds.
  public var data: String
  /// The identifier of this event, or of the last earlier event with an identifier; empty without such an event.
  public var id: String

  /// Makes an event.
  public init(type: String = "message", data: String, id: String = "") {
    self.type = type
    self.data = data
    self.id = id
  }
}
