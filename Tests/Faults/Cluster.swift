import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A PostgreSQL server for one test, which may kill it.
final class Cluster: Sendable {
  let url: URL
  private let directory: TemporaryDirectory

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Makes and starts a server.
  convenience init() throws { try self.init(Self.directory()) }

  /// Makes and starts a server with the data of another one, which must not run.
  ///
  /// - Parameter isStandby: Whether the server is a standby, which only reads until its promotion. Its primary does not
  ///   exist.
  convenience init(copyOf other: Cluster, asStandby isStandby: Bool = false) throws {
    let directory = try Self.directory()
    // `cp` keeps the owners of files, which `FileManager` changes.
    try Self.run("/bin/cp", ["-a", other.data.path, directory.url.path])
    if isStandby {
      let file = directory.url.appendingPathComponent("data/standby.signal").path
      guard FileManager.default.createFile(atPath: file, contents: nil, attributes: [.posixPermissions: 0o666]) else {
        throw Failure(description: "'\(file)' cannot be made.")
      }
    }
    try self.init(directory)
  }

  private init(_ directory: TemporaryDirectory) throws {
    self.directory = directory
    guard let url = URL(string: try Self.runTool("start", directory.path)) else {
      throw Failure(description: "Tools/postgres did not say where the server is.")
    }
    self.url = url
  }

  deinit { _ = try? Self.runTool("stop", directory.path) }

  private static func directory() throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory()
    // The server may run as another user, which needs access to the directory.
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path)
    return directory
  }

  private var data: URL { directory.url.appendingPathComponent("data") }
  private var processFile: URL { data.appendingPathComponent("postmaster.pid") }
  /// The directory of the server's socket, which is the host of a connection string.
  var host: String { directory.url.appendingPathComponent("socket").path }

  // MARK: Ending and starting

  /// Ends all processes of the server at once, without a checkpoint.
  func stopAtOnce() throws { _ = try Self.runTool("stop", directory.path) }

  /// Ends the server with a checkpoint, and waits for the end.
  func shutDown() throws {
    send(SIGINT, to: try postmaster())
    while FileManager.default.fileExists(atPath: processFile.path) { sched_yield() }
  }

  /// Kills the postmaster. The other processes end when they notice its end.
  func killPostmaster() throws { send(SIGKILL, to: try postmaster()) }

  /// Kills every process of the server, the postmaster first, so that none of them cleans up.
  func killAll() throws {
    let processes = try processes()
    send(SIGKILL, to: try postmaster())
    for process in processes { send(SIGKILL, to: process.number) }
  }

  /// Stops every background process, so that the server writes only on behalf of clients.
  func freezeBackground() throws {
    for process in try processes() where !process.isOfClient { send(SIGSTOP, to: process.number) }
  }

  /// Starts the server again, which recovers committed transactions. The start waits until all old processes have
  /// ended.
  func start() throws {
    for _ in 0..<300 { if (try? Self.runTool("start", directory.path)) != nil { return } }
    _ = try Self.runTool("start", directory.path)
  }

  /// The process number of the postmaster.
  private func postmaster() throws -> pid_t {
    let lines = try String(contentsOf: processFile, encoding: .utf8).split(separator: "\n")
    guard let process = lines.first.flatMap({ pid_t($0) }) else {
      throw Failure(description: "The server's number is not in its file.")
    }
    return process
  }

  // MARK: Commands

  /// Runs `Tools/postgres`.
  ///
  /// - Returns: The last line of its output.
  private static func runTool(_ verb: String, _ directory: String, file: String = #filePath) throws -> String {
    let root = URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try run(root.appendingPathComponent("Tools/postgres").path, [verb, directory])
  }

  /// Runs a command.
  ///
  /// - Returns: The last line of its output.
  @discardableResult
  private static func run(_ command: String, _ arguments: [String]) throws -> String {
    let tool = Process()
    tool.executableURL = URL(fileURLWithPath: command)
    tool.arguments = arguments
    // The tool writes its output into a file: the server inherits the output of the tool, and would keep a pipe open.
    let output = FileManager.default.temporaryDirectory.appendingPathComponent("cluster-\(UUID().uuidString)")
    _ = FileManager.default.createFile(atPath: output.path, contents: nil)
    defer { try? FileManager.default.removeItem(at: output) }
    let handle = try FileHandle(forWritingTo: output)
    tool.standardOutput = handle
    tool.standardError = handle
    try tool.run()
    tool.waitUntilExit()
    let lines = try String(contentsOf: output, encoding: .utf8).split(separator: "\n").map(String.init)
    guard tool.terminationStatus == 0 else { throw Failure(description: lines.joined(separator: "\n")) }
    return lines.last ?? ""
  }
}

/// Sends a signal to a process.
///
/// - Returns: Whether the process existed.
@discardableResult
func send(_ signal: CInt, to process: pid_t) -> Bool { kill(process, signal) == 0 }
