import CoherenceCore
import Foundation
public import HTTPTypes

extension HTTPClient {
  /// The events that a server sends at an address, `text/event-stream`.
  ///
  /// ```swift
  /// for try await event in http.events(.init(method: .get, url: url)) where event.type == "song" {
  ///   try connect.execute(MergeSong(json: event.data))
  /// }
  /// ```
  ///
  /// The sequence connects with the first read. When the connection ends or breaks, the sequence connects again after
  /// the server's reconnection time, with the identifier of the last event as `Last-Event-ID`, so that the server can
  /// send the events in between. After a reply with `Retry-After`, such as a 429 or a 503, the sequence waits at least
  /// as long as the reply asks for. The sequence ends after a reply with the status 204.
  public func events(_ request: HTTPRequest, options: ServerEventOptions = ServerEventOptions()) -> ServerEvents {
    ServerEvents(request: request, client: self, options: options)
  }
}

/// The events that a server sends; see ``HTTPClient/events(_:options:)``. Each iterator has a connection of its own.
public struct ServerEvents: AsyncSequence, Sendable {
  public typealias Element = ServerEvent
  public typealias Failure = any Error

  let request: HTTPRequest
  let client: any HTTPClient
  let options: ServerEventOptions

  public func makeAsyncIterator() -> Iterator { Iterator(request, client, options) }

  /// Reads the events over one connection at a time, for one task. Its release closes the connection.
  public struct Iterator: AsyncIteratorProtocol {
    private var request: HTTPRequest
    private let client: any HTTPClient
    private let options: ServerEventOptions
    /// The parser of the present connection, or of the last one. Its `lastEventID` goes into the next request.
    private var parser: ServerEventParser
    /// The body of the present connection; `nil` before a connection.
    private var body: HTTPBody?
    /// The events that `next` has not returned yet, the last of them first.
    private var events: [ServerEvent] = []
    /// The latest reconnection time of the server, which outlasts its connection; `nil` for the time of the options.
    private var reconnectionTime: Duration?
    /// The shortest delay before the next connection, which the last failure has asked for.
    private var advisedDelay = Duration.zero
    /// The number of failures since the last event. A connection that ends without an event is a failure too.
    private var failureCount = 0
    /// Whether the present connection has brought an event.
    private var hasEvents = false
    private var isFirstConnection = true
    /// Whether the sequence has ended, by the status 204 or by an error.
    private var isAtEnd = false

    init(_ request: HTTPRequest, _ client: any HTTPClient, _ options: ServerEventOptions) {
      self.request = request
      self.client = client
      self.options = options
      parser = ServerEventParser(lastEventID: options.lastEventID, limit: options.limit)
      self.request.headerFields[.accept] = "text/event-stream"
      self.request.headerFields[.cacheControl] = "no-store"
    }

    /// Waits for the next event; `nil` after the server has ended the stream with the status 204.
    ///
    /// - Throws: ``ErrorCode/httpStatus`` for a status of a permanent failure; ``ErrorCode/httpUnreadable`` for a reply
    ///   of another content type; ``ErrorCode/httpBodyTooLarge`` for an event above the limit, after the events before
    ///   it; the last error after the maximum number of failures; `CancellationError` when the task is cancelled. The
    ///   sequence has ended then, and its connection is closed.
    public mutating func next() async throws -> ServerEvent? {
      while !isAtEnd {
        if let event = events.popLast() { return event }
        do {
          try await readPart()
        } catch {
          (isAtEnd, body) = (true, nil)
          throw error
        }
      }
      return nil
    }

    /// Reads the next part of the body into `events`, which may stay empty, and connects first where necessary. After a
    /// failure that may pass, the next call connects again.
    private mutating func readPart() async throws {
      do {
        if body == nil { try await connect() }
        // `connect` leaves the body empty after a 204, the end of all events.
        guard let body else { return isAtEnd = true }
        if let failure = parser.failure { throw failure }
        guard let part = try await nextPart(of: body) else { return try endConnection(with: nil) }
        events = try parser.read(part).reversed()
        reconnectionTime = parser.reconnectionTime ?? reconnectionTime
        if !events.isEmpty { (failureCount, hasEvents) = (0, true) }
      } catch let error as CoherenceError where error.isRetryable {
        // The error may be an effect of the cancellation, after which no connection follows.
        try Task.checkCancellation()
        try endConnection(with: error)
      }
    }

    /// Ends the connection, after which the next read connects again.
    ///
    /// - Parameter error: The error of the connection; `nil` for a body that the server has ended.
    /// - Throws: The error, or an error for a body without an event, after the maximum number of failures.
    private mutating func endConnection(with error: CoherenceError?) throws {
      body = nil
      let advice = error.flatMap { RetryPolicy.advisedDelay(of: $0, at: options.clock.now) }
      advisedDelay = advice ?? .zero
      // Some servers end each connection after its events, so such an end is no failure.
      if error == nil, hasEvents { return }
      failureCount += 1
      guard let maximum = options.maximumFailures, failureCount >= Swift.max(maximum, 1) else { return }
      throw error ?? HTTPFailure(to: request).broken("the stream of events ended")
    }

    /// Requests the stream, after a delay if it is not the first connection. Leaves `body` empty after a 204.
    private mutating func connect() async throws {
      if !isFirstConnection {
        let delay = options.delay(reconnectionTime, failures: failureCount)
        try await options.clock.wait(for: Swift.max(delay, advisedDelay))
      }
      isFirstConnection = false
      let id = parser.lastEventID
      request.headerFields[.lastEventID] = id.isEmpty ? nil : id
      let stream = try await client.stream(request, body: nil)
      guard stream.status != .noContent else { return }
      try stream.successful()
      let type = stream.response.headerFields[.contentType]?.split(separator: ";").first ?? ""
      guard type.trimmingCharacters(in: .whitespaces).lowercased() == "text/event-stream" else {
        stream.discard()
        throw CoherenceError(
          .httpUnreadable,
          "\(HTTPFailure(to: request).host) replied without the content type 'text/event-stream'; check the address.",
          underlying: HTTPFailure(to: request, status: stream.status.code))
      }
      // A new parser: the incomplete event of the former connection is discarded.
      parser = ServerEventParser(lastEventID: id, limit: options.limit)
      (body, hasEvents) = (stream.body, false)
    }

    /// Waits for the next part of a body; `nil` at its end.
    ///
    /// - Throws: ``ErrorCode/httpTimedOut`` at the deadline; the error of the connection.
    private func nextPart(of body: HTTPBody) async throws -> Data? {
      @Sendable func read() async throws -> Data? {
        var parts = body.makeAsyncIterator()
        return try await parts.next()
      }
      guard let deadline = options.deadline else { return try await read() }
      let (clock, request) = (options.clock, self.request)
      return try await withThrowingTaskGroup(of: Data?.self) { group in
        defer { group.cancelAll() }
        group.addTask { try await read() }
        group.addTask {
          try await clock.wait(for: deadline)
          throw HTTPFailure(to: request).timedOut(after: deadline)
        }
        return try await group.next() ?? nil
      }
    }
  }
}

extension HTTPField.Name {
  /// The identifier of the last event that a client has received.
  fileprivate static let lastEventID = HTTPField.Name("Last-Event-ID")!
}
