import Foundation
import Testing

/// A finished run of the command as a process of its own.
struct CommandRun {
  let status: Int32
  let output: String
  let error: String

  /// Runs the command that the tests were built with.
  init(_ arguments: [String]) throws {
    let process = Process()
    process.executableURL = Self.executable
    process.arguments = arguments
    let (output, error) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = error
    try process.run()
    self.output = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    self.error = String(decoding: error.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    status = process.terminationStatus
  }

  static var executable: URL {
    URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent("coherence")
  }

  /// The JSON of the output.
  func object() throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any], "\(output)\(error)")
  }

  /// A list of objects of the output.
  func list(_ key: String) throws -> [[String: Any]] { try #require(try object()[key] as? [[String: Any]]) }
}

/// A running command whose lines are read as they come.
final class RunningCommand {
  private let process = Process()
  private let pipe = Pipe()
  private var rest = Data()

  init(_ arguments: [String]) throws {
    process.executableURL = CommandRun.executable
    process.arguments = arguments
    process.standardOutput = pipe
    try process.run()
  }

  /// The next line; `nil` at the end of the output.
  func nextLine() -> String? {
    while true {
      if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        defer { rest = Data(rest[(end + 1)...]) }
        return String(decoding: rest[..<end], as: UTF8.self)
      }
      let data = pipe.fileHandleForReading.availableData
      if data.isEmpty { return nil }
      rest += data
    }
  }

  /// Ends the command as Control-C does, and returns its exit code.
  func interrupt() -> Int32 {
    process.interrupt()
    process.waitUntilExit()
    return process.terminationStatus
  }
}
