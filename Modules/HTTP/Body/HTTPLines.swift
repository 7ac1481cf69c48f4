import CoherenceCore
public import Foundation

extension HTTPBody {
  /// The lines of the body, each as soon as it is complete. A body of JSON Lines (`application/x-ndjson`) has one
  /// record in each line.
  ///
  /// ```swift
  /// for try await line in reply.body.lines() { songs.append(try decoder.decode(Song.self, from: line)) }
  /// ```
  ///
  /// Lines end with a line feed or with carriage return and line feed, the last line also with the body. Empty lines
  /// are omitted.
  ///
  /// - Parameter limit: The maximum number of bytes in a line, with its carriage return and without its line feed, so
  ///   that a body without line feeds does not fill the memory.
  public func lines(limit: Int = 1 << 20) -> HTTPLines { HTTPLines(body: self, limit: limit) }
}

/// The lines of a body; see ``HTTPBody/lines(limit:)``.
public struct HTTPLines: AsyncSequence, Sendable {
  public typealias Element = Data
  public typealias Failure = any Error

  let body: HTTPBody
  let limit: Int

  public func makeAsyncIterator() -> Iterator { Iterator(parts: body.makeAsyncIterator(), limit: limit) }

  public struct Iterator: AsyncIteratorProtocol {
    private var parts: HTTPBody.Iterator
    private let limit: Int
    /// The bytes of the latest part after the present line.
    private var unread = Data()
    /// The bytes of the present line from earlier parts.
    private var line = Data()
    private var isAtEnd = false

    init(parts: HTTPBody.Iterator, limit: Int) {
      self.parts = parts
      self.limit = limit
    }

    /// Waits for the next line, without its line feed and the carriage return before it; `nil` after the last.
    ///
    /// - Throws: The errors of the body; ``ErrorCode/httpBodyTooLarge`` for a line longer than the limit.
    public mutating func next() async throws -> Data? {
      while !isAtEnd {
        if let line = try takeLine() { return line }
        if let part = try await parts.next() { unread = part } else { isAtEnd = true }
      }
      defer { line = Data() }
      return line.isEmpty ? nil : line
    }

    /// Returns the next line that ends in the unread bytes; `nil` after moving the bytes without an end to `line`.
    private mutating func takeLine() throws -> Data? {
      while !unread.isEmpty {
        let end = unread.firstIndex(of: UInt8(ascii: "\n"))
        try extend(by: unread[..<(end ?? unread.endIndex)])
        unread = end.map { unread[unread.index(after: $0)...] } ?? Data()
        guard end != nil else { return nil }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        defer { line = Data() }
        if !line.isEmpty { return line }
      }
      return nil
    }

    private mutating func extend(by bytes: Data) throws {
      guard bytes.count <= limit - line.count else {
        throw CoherenceError(
          .httpBodyTooLarge, "A line of a reply's body has more than \(limit) bytes; allow more, or check the service.")
      }
      line.append(bytes)
    }
  }
}
