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

  @Test func `a command that works is not ended`() throws {
    let count = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exit 3"
    let command = Command(["sh", "-c", count], in: directory)
    #expect(try command.run(log: log, limit: 900, idleLimit: 0.2) == .exited(3))
  }
}
