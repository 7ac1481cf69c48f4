import CoherenceCore
import CoherenceHTTP
import Foundation
import Testing

/// The examples and rules of the HTML standard, sections 9.2.5 and 9.2.6.
@Suite("The parser of server-sent events")
struct ServerEventParserTests {
  /// A stream and its events.
  struct Example: CustomTestStringConvertible, Sendable {
    let name: String
    let text: String
    let events: [ServerEvent]
    var lastEventID = ""
    var reconnectionTime: Duration?

    var testDescription: String { name }
  }

  static let examples = [
    Example(
      name: "lines of data are joined", text: "data: YHOO\ndata: +2\ndata: 10\n\n",
      events: [ServerEvent(data: "YHOO\n+2\n10")]),
    Example(
      name: "comments, identifiers and an event without an end",
      text: ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event",
      events: [ServerEvent(data: "first event", id: "1"), ServerEvent(data: "second event")]),
    Example(
      name: "empty data", text: "data\n\ndata\ndata\n\ndata:",
      events: [ServerEvent(data: ""), ServerEvent(data: "\n")]),
    Example(
      name: "one space after the colon is left out", text: "data:test\n\ndata: test\n\ndata:  test\n\n",
      events: [ServerEvent(data: "test"), ServerEvent(data: "test"), ServerEvent(data: " test")]),
    Example(
      name: "every kind of line end", text: "event: a\rdata: 1\r\rdata: 2\r\n\r\nevent: b\ndata: 3\n\ndata: 4\r\n\n",
      events: [
        ServerEvent(type: "a", data: "1"), ServerEvent(data: "2"), ServerEvent(type: "b", data: "3"),
        ServerEvent(data: "4"),
      ]),
    Example(
      name: "an event without data is left out, and its identifier counts",
      text: "event: a\nid: 7\n\ndata: 1\n\n", events: [ServerEvent(data: "1", id: "7")], lastEventID: "7"),
    Example(
      name: "the identifier of an event without an end does not count",
      text: "id: 1\ndata: 1\n\nid: 2\ndata: 2\n", events: [ServerEvent(data: "1", id: "1")], lastEventID: "1"),
    Example(
      name: "an identifier with a null character is ignored", text: "id: 1\nid: a\u{0}b\ndata: 1\n\n",
      events: [ServerEvent(data: "1", id: "1")], lastEventID: "1"),
    Example(
      name: "a reconnection time has digits alone", text: "retry: 1500\nretry: 1s\nretry: -1\nretry:\nretry: +2\n",
      events: [], reconnectionTime: .milliseconds(1500)),
    Example(
      name: "a mark of the byte order at the beginning is left out",
      text: "\u{FEFF}data: 1\n\n\u{FEFF}data: 2\n\n", events: [ServerEvent(data: "1")]),
    Example(
      name: "unknown fields and fields in capitals are ignored", text: "DATA: 0\nother: 1\ndata: ü€😀\n\n",
      events: [ServerEvent(data: "ü€😀")]),
    Example(name: "colons in values stay", text: "data: a: b\n\n", events: [ServerEvent(data: "a: b")]),
  ]

  @Test(arguments: examples)
  func `the events do not depend on the parts in which the bytes arrive`(example: Example) throws {
    let bytes = Array(example.text.utf8)
    var cuts = (0...bytes.count).map { [bytes[..<$0], bytes[$0...]] }
    cuts.append(bytes.indices.map { bytes[$0...$0] })
    for parts in cuts {
      var parser = ServerEventParser()
      var events: [ServerEvent] = []
      for part in parts { events += try parser.read(part) }
      #expect(events == example.events, "cut at \(parts[0].count)")
      #expect(parser.lastEventID == example.lastEventID)
      #expect(parser.reconnectionTime == example.reconnectionTime)
    }
  }

  @Test func `invalid UTF-8 is replaced`() throws {
    var parser = ServerEventParser()
    let events = try parser.read(Array("data: a".utf8) + [0xFF] + Array("b\n\n".utf8))
    #expect(events == [ServerEvent(data: "a\u{FFFD}b")])
  }

  @Test func `a parser of a later connection continues with the last identifier`() throws {
    var parser = ServerEventParser(lastEventID: "5")
    #expect(try parser.read("data: 1\n\n".utf8) == [ServerEvent(data: "1", id: "5")])
    #expect(parser.lastEventID == "5")
  }

  @Test(arguments: ["data: " + String(repeating: "x", count: 2000), String(repeating: "data: xxxx\n", count: 400)])
  func `an event above the limit is refused`(text: String) {
    var parser = ServerEventParser(limit: 1000)
    #expect { try parser.read(text.utf8) } throws: { ErrorCode.httpBodyTooLarge ~= $0 }
  }

  @Test func `the events before an event above the limit are returned, and the next call throws`() throws {
    var parser = ServerEventParser(limit: 10)
    let events = try parser.read("data: 1\n\ndata: 2\n\ndata: too long\n\ndata: 3\n\n".utf8)
    #expect(events == [ServerEvent(data: "1"), ServerEvent(data: "2")])
    #expect { try parser.read("data: 4\n\n".utf8) } throws: { ErrorCode.httpBodyTooLarge ~= $0 }
  }

  @Test func `an event of exactly the limit is read`() throws {
    var parser = ServerEventParser(limit: 10)
    let events = try parser.read("data: 1234\n\ndata: 1234\n\n".utf8)
    #expect(events == [ServerEvent(data: "1234"), ServerEvent(data: "1234")])
    var narrow = ServerEventParser(limit: 9)
    #expect { try narrow.read("data: 1234\n\n".utf8) } throws: { ErrorCode.httpBodyTooLarge ~= $0 }
  }

  @Test func `a reconnection time above the greatest number of 32 bits is ignored`() throws {
    var parser = ServerEventParser()
    _ = try parser.read("retry: 2147483647\nretry: 2147483648\nretry: 99999999999999999999\n".utf8)
    #expect(parser.reconnectionTime == .milliseconds(2_147_483_647))
  }

  @Test func `a comment within an event, and the name of a former event, do not change the event`() throws {
    var parser = ServerEventParser()
    let events = try parser.read("event: a\ndata: 1\n\n:data: 0\ndata: 2\n: end\n\nevent: b\n\ndata: 3\n\n".utf8)
    #expect(events == [ServerEvent(type: "a", data: "1"), ServerEvent(data: "2"), ServerEvent(data: "3")])
  }
}
