import Foundation
import Testing

/// The offline story of the demo, as a user runs it.
@Suite("The offline story")
struct OfflineStoryTests {
  static let server = ProcessInfo.processInfo.environment["COHERENCE_POSTGRESQL_URL"]

  @Test func `after a kill, the service has every edit once, and both sides agree, with SQLite`() async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("story-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    let run = try await StoryRun("--store", directory.path)
    #expect(run.status == 0, "\(run.output)")
    #expect(run.output.contains("✓ Every edit is at the service exactly once: 35 of 35"))
    #expect(run.output.contains("✓ The outbox is empty: 0 entries are left."))
    #expect(!run.output.contains("FAILED"))
    // The store of the first story has its notes, and the second begins again.
    let second = try await StoryRun("--store", directory.path)
    #expect(second.status == 0, "\(second.output)")
  }

  @Test(.enabled(if: Self.server != nil, "Set COHERENCE_POSTGRESQL_URL; `Tools/postgres start DIR` prints one."))
  func `after a kill, the service has every edit once, and both sides agree, with PostgreSQL`() async throws {
    let server = try #require(Self.server)
    let schema = "story_" + UUID().uuidString.filter(\.isHexDigit).lowercased()
    let run = try await StoryRun("--postgres", server, "--story-schema", schema)
    #expect(run.status == 0, "\(run.output)")
    #expect(run.output.contains("✓ Every edit is at the service exactly once: 35 of 35"))
  }

  @Test func `the checks find a service that forgets idempotency keys`() async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("story-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    let run = try await StoryRun("--store", directory.path, "--forgetful")
    #expect(run.status == 1, "\(run.output)")
    #expect(run.output.contains("✗ FAILED: Every edit is at the service exactly once"))
    #expect(run.output.contains("✗ FAILED: The service recognized 0 of 2 repeated edits"))
    #expect(run.output.contains("✗ FAILED: Each of the 43 notes"))
  }
}

/// A run of the demo with the option `--offline-story`.
private struct StoryRun {
  let status: Int32
  let output: String

  init(_ arguments: String...) async throws {
    let pipe = Pipe()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      .appendingPathComponent("coherence-demo")
    // A story takes seconds. Other tests may run beside it.
    process.arguments = ["--offline-story", "--story-limit", "240"] + arguments
    process.standardOutput = pipe
    let (output, continuation) = AsyncStream<Data>.makeStream()
    try process.run()
    // On a thread of its own, because reading and waiting block.
    let file = pipe.fileHandleForReading
    Thread.detachNewThread {
      continuation.yield(file.readDataToEndOfFile())
      continuation.finish()
    }
    let data = await output.first { _ in true } ?? Data()
    process.waitUntilExit()
    status = process.terminationStatus
    self.output = String(decoding: data, as: UTF8.self)
  }
}
