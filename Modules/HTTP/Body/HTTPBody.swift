public import Foundation

/// The body of a reply while it comes in, as a sequence of parts.
///
/// ```swift
/// let reply = try await http.stream(request).successful()
/// for try await part in reply.body { digest.update(data: part) }
/// ```
///
/// The parts are as large as they arrive. A body can be read once, and by one task. A body that nobody
/// holds any more is not received any further, and its connection is closed.
///
/// The body comes in at the pace of the network, not of its reader, because `URLSession` on Linux cannot let a server
/// wait. What was not read yet is in memory up to 256 KiB; the rest is in a file without a name in the temporary directory,
/// which its owner alone can read and which goes with the body. So the memory that a body takes does not depend on its
/// size, and a slow reader holds up no connection and runs into no time limit.
public struct HTTPBody: AsyncSequence, Sendable {
  public typealias Element = Data
  public typealias Failure = any Error

  let buffer: BodyBuffer
  private let lifetime: Lifetime

  /// Cancels what nobody can read any more.
  private final class Lifetime: Sendable {
    let buffer: BodyBuffer
    init(_ buffer: BodyBuffer) { self.buffer = buffer }
    deinit { buffer.cancel(CancellationError()) }
  }

  init(_ buffer: BodyBuffer) {
    self.buffer = buffer
    lifetime = Lifetime(buffer)
  }

  /// A body that is there as a whole.
  public init(_ data: Data = Data()) { self.init(BodyBuffer(data)) }

  /// A body and its writer, for clients of your own.
  ///
  /// - Parameter onCancel: Called when the body is not wanted any further: its transfer is to be canceled.
  public static func makeStream(onCancel: @escaping @Sendable () -> Void = {}) -> (body: HTTPBody, writer: Writer) {
    let buffer = BodyBuffer()
    buffer.whenCanceled(onCancel)
    return (HTTPBody(buffer), Writer(buffer: buffer))
  }

  /// The largest number of bytes that waited in memory.
  package var peak: Int { buffer.peak }

  public func makeAsyncIterator() -> Iterator { Iterator(body: self) }

  public struct Iterator: AsyncIteratorProtocol {
    private let body: HTTPBody

    init(body: HTTPBody) { self.body = body }

    /// The next part; `nil` after the last.
    ///
    /// - Throws: ``ErrorCode/httpTransferFailed``, ``ErrorCode/httpTimedOut`` and ``ErrorCode/httpBodyTooLarge``: the
    ///   parts until then are no whole body. ``ErrorCode/inputOutput`` when the temporary directory is full.
    ///   `CancellationError` when the task is canceled, which cancels the transfer.
    public mutating func next() async throws -> Data? { try await body.buffer.next() }
  }

  /// Takes the parts of a body from a client of your own. May be used from any thread.
  public struct Writer: Sendable {
    let buffer: BodyBuffer

    /// Appends a part. Blocks no longer than it takes to write it to a file.
    public func write(_ part: Data) { buffer.write(part) }

    /// Ends the body: it is whole, or the error says why not. Only the first end counts.
    public func finish(throwing error: (any Error)? = nil) {
      buffer.finish(error.map { .failure($0) } ?? .success(()))
    }
  }
}
