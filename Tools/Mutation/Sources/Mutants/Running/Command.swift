import Foundation

/// A command of the system.
struct Command {
  /// The result of a command.
  enum Ending: Equatable {
    case exited(Int32)
    /// `Command` has ended the process at a line of its output.
    case stopped(line: String)
    case timedOut
  }

  private let arguments: [String]
  private let directory: URL
  private let environment: [String: String]

  /// - Parameters:
  ///   - arguments: The name of the program, which is looked up in `PATH`, and its arguments.
  ///   - environment: Variables in addition to the variables of this process.
  init(_ arguments: [String], in directory: URL, environment: [String: String] = [:]) {
    self.arguments = arguments
    self.directory = directory
    self.environment = environment
  }

  /// Runs the command and returns its standard output.
  ///
  /// - Throws: ``MutationFailure`` when the command fails.
  func output() throws -> String {
    let pipe = Pipe()
    let process = makeProcess(arguments)
    process.standardOutput = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw MutationFailure("'\(arguments.joined(separator: " "))' failed; its messages are above.")
    }
    return String(decoding: data, as: UTF8.self)
  }

  /// Runs the command with its output in a file.
  ///
  /// - Parameters:
  ///   - log: The file, which is replaced.
  ///   - limit: The seconds after which the command and its children are ended; `nil` for no limit.
  ///   - idleLimit: The seconds without processor time after which a command with a `limit` is ended.
  ///   - stops: Whether to end the command at a line of its output.
  func run(
    log: URL, limit: Int? = nil, idleLimit: Double = 30, stoppingAt stops: (String) -> Bool = { _ in false }
  ) throws -> Ending {
    try Data().write(to: log)
    let file = try FileHandle(forWritingTo: log)
    defer { try? file.close() }
    let pipe = Pipe()
    let process = makeProcess(limit.map { Self.limited(arguments, to: $0) } ?? arguments)
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    // `timeout` is the first process of a group of its own.
    let watch = limit.map { _ in IdleWatch(group: process.processIdentifier, limit: idleLimit) }
    defer { _ = watch?.stop() }
    var rest = Data()
    while case let data = pipe.fileHandleForReading.availableData, !data.isEmpty {
      try file.write(contentsOf: data)
      rest.append(data)
      while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: rest[..<end], as: UTF8.self)
        rest = Data(rest[(end + 1)...])
        guard stops(line) else { continue }
        // A child of the command may keep the pipe open, so the code does not wait for the end of the output.
        process.terminate()
        process.waitUntilExit()
        return .stopped(line: line)
      }
    }
    process.waitUntilExit()
    if watch?.stop() == true { return .timedOut }
    return process.terminationStatus == 124 && limit != nil ? .timedOut : .exited(process.terminationStatus)
  }

  private func makeProcess(_ arguments: [String]) -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.currentDirectoryURL = directory
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    return process
  }

  /// GNU's `timeout` also ends the children of a command.
  private static func limited(_ arguments: [String], to seconds: Int) -> [String] {
    ["timeout", "--kill-after=10", "\(seconds)"] + arguments
  }
}

/// The reason why mutants could not be made or tested.
public struct MutationFailure: Error, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}
