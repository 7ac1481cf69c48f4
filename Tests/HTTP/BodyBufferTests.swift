import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@Suite("Bodies whose unread part cannot be kept", .timeLimit(.minutes(15)))
struct BodyBufferTests {

  /// A buffer for four bytes, whose file cannot be made.
  private func makeFailingBuffer() -> BodyBuffer {
    let missing = FileManager.default.temporaryDirectory.appending(path: "missing-\(UUID().uuidString)")
    return BodyBuffer(memorySize: 4, directory: missing)
  }

  @Test func `the file of an endless body does not grow with the bytes that its reader has read`() async throws {
    let size = 1 << 20
    let buffer = BodyBuffer(memorySize: size)
    var (written, read) = (0, 0)
    func write() {
      buffer.write(Data(repeating: UInt8(written), count: size))
      written += 1
    }
    // The reader is always four parts behind.
    for _ in 0..<4 { write() }
    for _ in 0..<100 {
      write()
      let bytes = try #require(try await buffer.next())
      #expect(bytes.count == size && bytes.first == UInt8(read) && bytes.last == UInt8(read))
      read += 1
    }
    #expect((1..<(40 << 20)).contains(buffer.fileSize))
    buffer.finish(.success(()))
    while let bytes = try await buffer.next() {
      #expect(bytes.count == size && bytes.first == UInt8(read) && bytes.last == UInt8(read))
      read += 1
    }
    #expect(read == written)
  }

  @Test func `a write moves no unread bytes, however many bytes the reader has read`() async throws {
    let size = 1 << 20
    let buffer = BodyBuffer(memorySize: size)
    // The first part is in memory, and the others are in the file.
    for part in 0..<40 { buffer.write(Data(repeating: UInt8(part), count: size)) }
    var read = 0
    func readPart() async throws {
      let bytes = try #require(try await buffer.next())
      #expect(bytes.count == size && bytes.first == UInt8(read) && bytes.last == UInt8(read))
      read += 1
    }
    for _ in 0..<21 { try await readPart() }
    #expect(buffer.fileSize == 39 * size)
    // Fewer bytes are unread than are read.
    for part in 40..<42 { buffer.write(Data(repeating: UInt8(part), count: size)) }
    #expect(buffer.fileSize == 41 * size)
    for _ in 21..<40 { try await readPart() }
    #expect(buffer.fileSize == 2 * size)
    buffer.write(Data(repeating: 42, count: size))
    for _ in 40..<43 { try await readPart() }
    #expect(buffer.fileSize == 0)
    buffer.finish(.success(()))
    #expect(try await buffer.next() == nil)
  }

  /// A server that sends the beginning of a reply's body, and waits until the client closes the connection.
  private func makeHalfServer(_ head: String, _ isClosed: Gate) throws -> LoopbackServer {
    try LoopbackServer { _, connection in
      connection.send(head + String(repeating: "x", count: 100_000))
      connection.waitUntilClientCloses()
      isClosed.open()
    }
  }

  @Test(arguments: ClientKind.allCases)
  func `a body whose unread part cannot be written to a file is an error, and the connection is closed`(
    kind: ClientKind
  ) async throws {
    let isClosed = Gate()
    let server = try makeHalfServer(ScriptedReply().head(length: 1_000_000), isClosed)
    let buffer = makeFailingBuffer()
    let client = kind.makeClient()
    #expect(try await client.begin(HTTPHop(request: .get(server.url)), into: buffer).status == .ok)
    await isClosed.wait()
    let error = try await #require(throws: CoherenceError.self) { try await buffer.next() }
    #expect(error.code == .inputOutput)
  }

  @Test(arguments: ClientKind.allCases)
  func `a challenge whose body cannot be written to a file throws the error of the file`(kind: ClientKind) async throws
  {
    let isClosed = Gate()
    let challenge = #"WWW-Authenticate: Basic realm="albums""#
    let reply = ScriptedReply(status: "401 Unauthorized", headerFields: [challenge])
    let server = try makeHalfServer(reply.head(length: 1_000_000), isClosed)
    let buffer = makeFailingBuffer()
    let client = kind.makeClient()
    let error = try await #require(throws: CoherenceError.self) {
      // One client returns the head of a challenge at once, and the other at the end of the body.
      _ = try await client.begin(HTTPHop(request: .get(server.url)), into: buffer)
      while try await buffer.next() != nil {}
    }
    #expect(error.code == .inputOutput)
    await isClosed.wait()
  }

  @Test func `a transfer is cancelled once, even if the file fails before the transfer can be cancelled`() async throws
  {
    let buffer = makeFailingBuffer()
    buffer.write(Data("12345".utf8))
    let cancelCount = Mutex(0)
    buffer.whenCanceled { cancelCount.withLock { $0 += 1 } }
    #expect(cancelCount.withLock { $0 } == 1)
    buffer.write(Data("6".utf8))
    buffer.finish(.success(()))
    let error = try await #require(throws: CoherenceError.self) { try await buffer.next() }
    #expect(error.code == .inputOutput)
    #expect(cancelCount.withLock { $0 } == 1)
  }

  @Test func `a complete body does not cancel its transfer`() async throws {
    let buffer = BodyBuffer(memorySize: 4)
    buffer.write(Data("1234".utf8))
    buffer.finish(.success(()))
    let cancelCount = Mutex(0)
    buffer.whenCanceled { cancelCount.withLock { $0 += 1 } }
    #expect(try await buffer.next() == Data("1234".utf8))
    #expect(try await buffer.next() == nil)
    #expect(cancelCount.withLock { $0 } == 0)
  }

  #if os(Linux)
    /// The paths of the descriptors of open files in a directory, deleted files included.
    private func descriptors(in directory: TemporaryDirectory) -> [String] {
      let all = "/proc/self/fd/"
      let files = FileManager.default
      return ((try? files.contentsOfDirectory(atPath: all)) ?? []).map { all + $0 }.filter { descriptor in
        let target = try? files.destinationOfSymbolicLink(atPath: descriptor)
        return target?.contains(directory.url.lastPathComponent) ?? false
      }
    }

    @Test func `a body whose file cannot be read any more cancels its transfer, and closes its file`() async throws {
      let directory = TemporaryDirectory()
      try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
      let buffer = BodyBuffer(memorySize: 4, directory: directory.url)
      let cancelCount = Mutex(0)
      buffer.whenCanceled { cancelCount.withLock { $0 += 1 } }
      for text in ["1234", "5678"] { buffer.write(Data(text.utf8)) }
      #expect(directory.names.isEmpty)
      let open = descriptors(in: directory)
      #expect(open.count == 1)
      for descriptor in open { #expect(truncate(descriptor, 0) == 0) }
      #expect(try await buffer.next() == Data("1234".utf8))
      for _ in 0..<2 {
        let error = try await #require(throws: CoherenceError.self) { try await buffer.next() }
        #expect(error.code == .inputOutput)
      }
      #expect(cancelCount.withLock { $0 } == 1)
      #expect(descriptors(in: directory).isEmpty)
    }
  #endif
}
