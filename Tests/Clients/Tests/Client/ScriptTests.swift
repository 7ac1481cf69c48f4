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
  }
#endif
