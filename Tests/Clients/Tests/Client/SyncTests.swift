#if os(Linux)
  import Testing

  @Suite("A client of an unreliable service", .timeLimit(.minutes(15)))
  struct SyncTests {
    @Test func `a sync cancelled once, resumed by two processes and repeated stores every song once`() throws {
      let program = Program("coherence-sync", "1000")
      defer { program.remove() }
      // Lines that begin with a space are figures.
      let lines = try program.output().split(separator: "\n").filter { !$0.hasPrefix(" ") }
      #expect(
        lines == [
          "canceled: true, in the middle: true",
          "processes: [0, 0]",
          "resumed: 1000 songs of 20 artists and 11 genres: 0 duplicates, 0 wrong, 0 missing, 1 draft",
          "again: 0 inserted, 0 updated, 0 deleted",
          "afterwards: 1000 songs of 20 artists and 11 genres: 0 duplicates, 0 wrong, 0 missing, 1 draft",
          "removed at the service: 0 inserted, 0 updated, 10 deleted",
          "afterwards: 990 songs of 20 artists and 11 genres: 0 duplicates, 0 wrong, 0 missing, 1 draft",
        ])
    }
  }
#endif
