import DemoClient
import Foundation

/// A process that runs one task of the story's client. The story can kill the process.
@MainActor
final class ClientProcess {
  private let process = Process()
  private let input = Pipe()
  private let messages: AsyncStream<StoryMessage>
  /// Ends with the process.
  private let exit: AsyncStream<Void>

  /// Starts this program again, with a hidden command.
  init(_ task: StoryTask, service: URL, store: StoryStore, isVerbose: Bool) throws {
    let output = Pipe()
    process.executableURL = Bundle.main.executableURL
    process.arguments =
      ["story-client", task.rawValue, "--url", service.absoluteString] + store.arguments
      + (isVerbose ? ["--verbose"] : [])
    process.standardInput = input
    process.standardOutput = output
    messages = Self.messages(from: output.fileHandleForReading)
    let (exit, continuation) = AsyncStream<Void>.makeStream()
    self.exit = exit
    process.terminationHandler = { _ in continuation.finish() }
    try process.run()
  }

  /// The next message; `nil` at the end of the process.
  func message() async -> StoryMessage? {
    for await message in messages { return message }
    return nil
  }

  /// Writes a line, for which the client waits.
  func proceed() throws { try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8)) }

  /// Kills the process immediately, even in the middle of an operation.
  func kill() {
    if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
  }

  /// Waits for the end of the process.
  ///
  /// - Returns: Whether the process ended by itself without an error.
  func waitForSuccess() async -> Bool {
    for await _ in exit {}
    return process.terminationReason == .exit && process.terminationStatus == 0
  }

  /// Waits for the end of the process.
  ///
  /// - Returns: Whether the process was killed.
  func waitForKill() async -> Bool {
    for await _ in exit {}
    return process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
  }

  /// Reads lines on a thread of its own, because reading blocks.
  private nonisolated static func messages(from file: FileHandle) -> AsyncStream<StoryMessage> {
    let (stream, continuation) = AsyncStream<StoryMessage>.makeStream()
    Thread.detachNewThread {
      var rest = Data()
      while true {
        // `read(upToCount:)` would wait until the full number of bytes has arrived.
        let part = file.availableData
        guard !part.isEmpty else { break }
        rest += part
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
          if let message = try? JSONDecoder().decode(StoryMessage.self, from: rest[..<end]) {
            continuation.yield(message)
          }
          rest = Data(rest[(end + 1)...])
        }
      }
      continuation.finish()
    }
    return stream
  }
}
