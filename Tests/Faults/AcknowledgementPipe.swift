import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A named pipe that carries acknowledgements from a child process to the test, until the test kills the child.
struct AcknowledgementPipe: Sendable, Codable {
  let path: String

  init(in directory: TemporaryDirectory) throws {
    path = directory.url.appendingPathComponent("acknowledged").path(percentEncoded: false)
    unlink(path)
    guard mkfifo(path, 0o600) == 0 else { throw CocoaError(.fileWriteUnknown) }
  }

  // MARK: In the process that will be killed

  /// Opens the writing end. The returned function writes the number of an acknowledged save.
  func openToWrite() throws -> (Int) -> Void {
    let pipe = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    func tell(_ number: Int) {
      // One call writes the whole line, so that a kill cannot split it.
      pipe.write(Data("\(number)\n".utf8))
    }
    tell(Int(getpid()))
    return tell
  }

  // MARK: In the process that kills

  /// The reading end, opened before any writer.
  func openToRead() throws -> FileHandle {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw CocoaError(.fileReadUnknown) }
    return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }

  /// Reads the given number of acknowledgements, kills the process that wrote them, and reads to the end.
  ///
  /// - Returns: The numbers of the acknowledged saves.
  static func kill(after count: Int, reading pipe: FileHandle) -> [Int] {
    var text: [UInt8] = []
    var lines = 0
    var isKilled = false
    while let bytes = next(of: pipe.fileDescriptor), !bytes.isEmpty {
      text += bytes
      lines += bytes.count { $0 == UInt8(ascii: "\n") }
      if !isKilled, lines > count, let process = numbers(in: text).first {
        end(pid_t(process))
        isKilled = true
      }
    }
    return Array(numbers(in: text).dropFirst())
  }

  private static func numbers(in text: [UInt8]) -> [Int] {
    String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { Int($0) }
  }

  /// Waits for bytes; none at the end.
  private static func next(of descriptor: CInt) -> [UInt8]? {
    var wanted = pollfd(fd: descriptor, events: CShort(POLLIN), revents: 0)
    while poll(&wanted, 1, -1) < 0 { guard errno == EINTR else { return nil } }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(descriptor, &buffer, buffer.count)
    return count < 0 ? nil : Array(buffer.prefix(count))
  }

  /// Wakes a reader that still waits for its first writer.
  func release() {
    let descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    if descriptor >= 0 { close(descriptor) }
  }
}

/// Ends a process without a chance to do anything more. Not a method, so that the system's function has its name.
private func end(_ process: pid_t) { _ = kill(process, SIGKILL) }
