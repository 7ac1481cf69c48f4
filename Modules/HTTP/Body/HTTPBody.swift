public import Foundation

/// The body of a reply as a sequence of parts, which can be read while the body arrives.
///
/// ```swift
/// let reply = try await http.stream(request).successful()
/// for try await part in reply.body { digest.update(data: part) }
/// ```
///
/// The parts have the sizes in which they arrive. A body can be read once, by one task. Releasing an incomplete body
/// cancels its transfer and closes the connection.
///
/// The body arrives at the speed of the network and not of its reader, because `URLSession` on Linux cannot let a
/// server wait. Bodies of the other clients arrive in the same way. Up to 256 KiB of unread bytes are in memory. The
/// rest is in an unnamed file in the temporary directory, which only its owner can read, and which is deleted with the
/// body. The memory therefore does not depend on the size of the body, and a slow reader occupies no connection and
/// exceeds no time limit.
public struct HTTPBody: AsyncSequence, Sendable {
  public typealias Element = Data
  public typealias Failure = any Error

  let buffer: BodyBuffer
  private let lifetime: Lifetime

  /// Cancels the transfer at the release of the last copy of the body and its iterators.
  private final class Lifetime: Sendable {
    let buffer: BodyBuffer
    init(_ buffer: BodyBuffer) { self.buffer = buffer }
    deinit { buffer.cancel(CancellationError()) }
  }

  init(_ buffer: BodyBuffer) {
    self.buffer = buffer
    lifetime = Lifetime(buffer)
  }

  /// Makes a complete body.
  public init(_ data: Data = Data()) { self.init(BodyBuffer(data)) }

  /// Makes a body and its writer, for clients of your own.
  ///
  /// - Parameter onCancel: Cancels the transfer of the body. Called when the body is released, when its reader is
  ///   cancelled, and when the file of its unread part fails.
  public static func makeStream(onCancel: @escaping @Sendable () -> Void = {}) -> (body: HTTPBody, writer: Writer) {
    let buffer = BodyBuffer()
    buffer.whenCanceled(onCancel)
    return (HTTPBody(buffer), Writer(buffer: buffer))
  }

  /// The largest number of unread bytes in memory so far.
  package var peak: Int { buffer.peak }

  public func makeAsyncIterator() -> Iterator { Iterator(body: self) }

  public struct Iterator: AsyncIteratorProtocol {
    private let body: HTTPBody

    init(body: HTTPBody) { self.body = body }

    /// Waits for the next part; `nil` after the last.
    ///
    /// - Throws: ``ErrorCode/httpTransferFailed``, ``ErrorCode/httpTimedOut`` and ``ErrorCode/httpBodyTooLarge`` for an
    ///   incomplete body; ``ErrorCode/inputOutput`` when the temporary directory is full;
    ///   `CancellationError` when the task is cancelled before the end of the transfer, which cancels the transfer.
    public mutating func next() async throws -> Data? { try await body.buffer.next() }
  }

  /// Receives the parts of a body from a client of your own. May be used from any thread.
  public struct Writer: Sendable {
    let buffer: BodyBuffer

    /// Appends a part. May block to write the part to a file.
    public func write(_ part: Data) { buffer.write(part) }

    /// Ends the body as complete, or with the error of an incomplete body. Only the first end has an effect.
    public func finish(throwing error: (any Error)? = nil) {
      buffer.finish(error.map { .failure($0) } ?? .success(()))
    }
  }
}
