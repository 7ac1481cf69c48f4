#if os(Linux)
  import Testing

  @Suite("A program at the top level")
  struct ScriptTests {
    @Test func `a script waits for background tasks with any kind of block`() throws {
      let program = Program("coherence-script")
      defer { program.remove() }
      let entries = #"["one expression", "statements", "with a completion"]"#
      #expect(try program.output() == "2\ntrue\n\(entries)\n")
    }

    @Test func `a program of plain statements sees the saves of other threads, and has turns in its run loop`() throws {
      let program = Program("coherence-statements")
      defer { program.remove() }
      let lines = [
        #"["first"]"#, #"["first", "second"]"#, "2 2", #"["first", "second", "third"]"#, "3 3", "3 4", "5", "6",
      ]
      #expect(try program.output() == lines.map { $0 + "\n" }.joined())
    }
  }
#endif
