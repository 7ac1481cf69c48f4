import CoherenceCore
import Foundation
import PreparedProcess

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A process with the program of the tests in memory and a single thread, which waits for commands. Each command runs
/// in a copy of the process. Making a copy takes milliseconds, and a test may kill the copy.
///
/// Not thread-safe: one thread at a time may use the value.
final class PreparedProcess {
  static let variable = "COHERENCE_PREPARED_PROCESS"

  /// The end of a client.
  enum End: Equatable {
    case exited(CInt)
    case killed(by: CInt)
  }

  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  /// The identifier of the running client; `nil` without one.
  private(set) var client: pid_t?

  init() throws {
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    var environment = ProcessInfo.processInfo.environment
    environment[Self.variable] = "1"
    process.environment = environment
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  deinit {
    if let client { kill(client, SIGKILL) }
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// The descriptor that becomes readable when the client ends.
  var descriptor: CInt { output.fileHandleForReading.fileDescriptor }

  /// Starts a client.
  func start(_ command: KillCommand) throws {
    try input.fileHandleForWriting.write(contentsOf: try JSONEncoder().encode(command) + [UInt8(ascii: "\n")])
    guard let line = UnixSocket.readLine(from: descriptor), let client = pid_t(String(decoding: line, as: UTF8.self))
    else { throw UnixSocket.Failure(call: "start") }
    self.client = client
  }

  /// Kills the client.
  func killClient() {
    if let client { kill(client, SIGKILL) }
  }

  /// Reads the end of the client, once ``descriptor`` is readable.
  func readEnd() throws -> End {
    guard let line = UnixSocket.readLine(from: descriptor), let status = CInt(String(decoding: line, as: UTF8.self))
    else { throw UnixSocket.Failure(call: "end") }
    client = nil
    let signal = status & 0x7F
    return signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(by: signal)
  }
}

/// The work of a prepared process, called before `main`: the process has no other thread, so that it may be copied.
@_cdecl("coherence_prepared_process")
func runPreparedProcess() -> CInt {
  unsetenv(PreparedProcess.variable)
  // The model is made once before the copies, so that a copy starts faster.
  guard !KillModel.model.entities.isEmpty else { return 1 }
  while let line = readLine() {
    guard let command = try? JSONDecoder().decode(KillCommand.self, from: Data(line.utf8)) else { return 2 }
    let client = coherence_fork()
    if client == 0 { KillClient(command).run() }
    tell(client)
    var status: CInt = 0
    while waitpid(client, &status, 0) < 0 { guard errno == EINTR else { return 3 } }
    tell(status)
  }
  return 0
}

/// Writes a number to the test.
private func tell(_ number: CInt) {
  let line = Array("\(number)\n".utf8)
  _ = write(1, line, line.count)
}
