import CoherenceCore
import CoherenceHTTP
import Foundation
import Testing

/// The end of a body, complete or with an error.
@Suite("The ends of bodies")
struct BodyEndTests {
  private let broken = CoherenceError(.httpTransferFailed, "The connection broke.", isRetryable: true)

  @Test func `the error of a body discards the unread parts before it`() async throws {
    let (body, writer) = HTTPBody.makeStream()
    writer.write(Data("half".utf8))
    writer.finish(throwing: broken)
    var parts = body.makeAsyncIterator()
    for _ in 0..<2 {
      let error = try await #require(throws: CoherenceError.self) { try await parts.next() }
      #expect(error.code == .httpTransferFailed)
    }
  }

  @Test func `only the first end of a body has an effect, and nothing is written after it`() async throws {
    let (body, writer) = HTTPBody.makeStream()
    writer.write(Data("first".utf8))
    writer.finish()
    writer.write(Data("later".utf8))
    writer.finish(throwing: broken)
    var parts = body.makeAsyncIterator()
    #expect(try await parts.next() == Data("first".utf8))
    #expect(try await parts.next() == nil)
  }

  @Test func `a line in several parts beyond the limit is an error`() async throws {
    let (body, writer) = HTTPBody.makeStream()
    var lines = body.lines(limit: 4).makeAsyncIterator()
    writer.write(Data("12\n1".utf8))
    #expect(try await lines.next() == Data("12".utf8))
    // The second part arrives after the first has been read: unread parts are joined.
    writer.write(Data("2345\n".utf8))
    let error = try await #require(throws: CoherenceError.self) { try await lines.next() }
    #expect(error.code == .httpBodyTooLarge && error.message.contains("4 bytes"))
  }

  @Test func `an error of a body ends its lines`() async throws {
    let (body, writer) = HTTPBody.makeStream()
    var lines = body.lines().makeAsyncIterator()
    writer.write(Data("1\n2".utf8))
    #expect(try await lines.next() == Data("1".utf8))
    writer.finish(throwing: broken)
    let error = try await #require(throws: CoherenceError.self) { try await lines.next() }
    #expect(error.code == .httpTransferFailed)
  }
}
