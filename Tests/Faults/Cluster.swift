import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A PostgreSQL server of one test, to be ended without mercy.
final class Cluster: Sendable {
  let url: URL
  private let directory: TemporaryDirectory

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Makes and starts a server.
  init() throws {
    directory = try TemporaryDirectory()
    // The server may run as another user, who has to get in.
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path)
    guard let url = URL(string: try Self.run("start", directory.path)) else {
      throw Failure(description: "Tools/postgres did not say where the server is.")
    }
    self.url = url
  }

  deinit { _ = try? Self.run("stop", directory.path) }

  /// Ends all processes of the server at once, without a checkpoint.
  func stopAtOnce() throws { _ = try Self.run("stop", directory.path) }

  /// Kills the process that the others were begun by; they end when they notice.
  func killPostmaster() throws {
    let file = directory.url.appendingPathComponent("data/postmaster.pid")
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    guard let process = lines.first.flatMap({ pid_t($0) }) else {
      throw Failure(description: "The server's number is not in its file.")
    }
    kill(process, SIGKILL)
  }

  /// Starts the server again, which recovers what was committed. As long as processes of the old one are about, it cannot.
  func start() throws {
    for _ in 0..<100 { if (try? Self.run("start", directory.path)) != nil { return } }
    _ = try Self.run("start", directory.path)
  }

  /// Runs the project's tool. Answers the last line that it printed.
  private static func run(_ verb: String, _ directory: String, file: String = #filePath) throws -> String {
    let root = URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let tool = Process()
    tool.executableURL = root.appendingPathComponent("Tools/postgres")
    tool.arguments = [verb, directory]
    // A file, not a pipe: the server would hold a pipe open.
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
