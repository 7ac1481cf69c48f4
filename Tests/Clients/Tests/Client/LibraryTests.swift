#if os(Linux)
  import Testing

  @Suite("A library with a model file")
  struct LibraryTests {
    @Test(.timeLimit(.minutes(15)))
    func `classes that the plugin writes save and fetch records`() throws {
      let program = Program("coherence-library")
      defer { program.remove() }
      #expect(try program.output() == "The Dispossessed\n")
    }
  }
#endif
