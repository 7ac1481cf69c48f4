import CoherenceCore
import Foundation

/// Parses a stream of server-sent events, `text/event-stream`, after the HTML standard (WHATWG, 9.2.6).
///
/// The parser takes the bytes in parts of any size, as they arrive. ``HTTPClient/events(_:options:)`` uses the parser
/// for a connection; use the parser alone for a stream that another client or a file delivers.
public struct ServerEventParser: Sendable {
  /// The identifier to send after a reconnection: that of the last complete event, which inherits its predecessor's
  /// identifier if it has none. Empty before the first identifier.
  public private(set) var lastEventID: String
  /// The last reconnection time that the server asked for; `nil` for none.
  public private(set) var reconnectionTime: Duration?

  /// The error of an event above the limit; `nil` without such an event.
  private(set) var failure: CoherenceError?

  private let limit: Int
  /// The bytes of the present line.
  private var line = Data()
  /// Whether the last byte was a carriage return, which a line feed may follow.
  private var endsWithReturn = false
  private var isFirstLine = true
  private var type = ""
  private var data = ""
  private var hasData = false
  /// The identifier of the present event, which counts when the event ends.
  private var pendingID: String

  /// Makes a parser for the beginning of a stream.
  ///
  /// - Parameters:
  ///   - lastEventID: The identifier of the last event of an earlier connection.
  ///   - limit: The maximum number of bytes in an event, so that an event without an end does not fill the memory.
  public init(lastEventID: String = "", limit: Int = 1 << 20) {
    self.lastEventID = lastEventID
    self.limit = limit
    pendingID = lastEventID
  }

  /// Takes the next bytes of the stream, and returns the events that they complete.
  ///
  /// - Throws: ``ErrorCode/httpBodyTooLarge`` for an event above the limit. If the bytes complete events before it, this
  ///   call returns these events, and the next call throws. The parser cannot be used afterwards.
  public mutating func read(_ bytes: some Sequence<UInt8>) throws -> [ServerEvent] {
    if let failure { throw failure }
    var events: [ServerEvent] = []
    for byte in bytes {
      if byte == UInt8(ascii: "\n"), endsWithReturn {
        endsWithReturn = false
        continue
      }
      endsWithReturn = byte == UInt8(ascii: "\r")
      if endsWithReturn || byte == UInt8(ascii: "\n") {
        if let event = endLine() { events.append(event) }
      } else {
        guard line.count + data.utf8.count < limit else { return try refuseEvent(after: events) }
        line.append(byte)
      }
    }
    return events
  }

  /// Sets the failure, and returns the events before the refused one: whether they arrive together with it depends on
  /// the network.
  private mutating func refuseEvent(after events: [ServerEvent]) throws -> [ServerEvent] {
    let error = CoherenceError(
      .httpBodyTooLarge, "A server-sent event has more than \(limit) bytes; allow more, or check the service.")
    failure = error
    if events.isEmpty { throw error }
    return events
  }

  // MARK: Lines

  private mutating func endLine() -> ServerEvent? {
    var line = self.line
    self.line.removeAll(keepingCapacity: true)
    if isFirstLine, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
    isFirstLine = false
    guard !line.isEmpty else { return endEvent() }
    let colon = line.firstIndex(of: UInt8(ascii: ":"))
    // A line that begins with a colon is a comment.
    if colon == line.startIndex { return nil }
    var value = colon.map { line[line.index(after: $0)...] } ?? Data()
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    let name = line[..<(colon ?? line.endIndex)]
    setField(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
    return nil
  }

  private mutating func setField(_ name: String, _ value: String) {
    switch name {
    case "event": type = value
    case "data":
      if hasData { data += "\n" }
      data += value
      hasData = true
    case "id":
      if !value.utf8.contains(0) { pendingID = value }
    case "retry":
      // A number above `Int32.max`, 25 days, is ignored like text that is no number.
      let isNumber = !value.isEmpty && value.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      if isNumber, let milliseconds = Int32(value) { reconnectionTime = .milliseconds(milliseconds) }
    default: return
    }
  }

  private mutating func endEvent() -> ServerEvent? {
    lastEventID = pendingID
    defer { (type, data, hasData) = ("", "", false) }
    guard hasData else { return nil }
    return ServerEvent(type: type.isEmpty ? "message" : type, data: data, id: lastEventID)
  }
}
