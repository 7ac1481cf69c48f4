import Foundation
import Testing

@testable import Mutants

@Suite("Commands")
struct CommandTests {
  private let directory = FileManager.default.temporaryDirectory
  private var log: URL { directory.appendingPathComponent("command-\(UUID().uuidString).log") }

  @Test func `a command that waits without processor time is ended`() throws {
    let command = Command(["sh", "-c", "sleep 1000 & wait"], in: directory)
    #expect(try command.run(log: log, limit: 900, idleLimit: 0.2) == .timedOut)
  }

  @Test func `a command that works for longer than the idle limit is not ended`() throws {
    let work = "end=$(($(date +%s) + 4)); while [ $(date +%s) -lt $end ]; do :; done; exit 3"
    let command = Command(["sh", "-c", work], in: directory)
    // Long enough for a machine whose processors have other work.
    #expect(try command.run(log: log, limit: 900, idleLimit: 1.5) == .exited(3))
  }
}
