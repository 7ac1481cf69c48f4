import Testing

/// A misuse without a possible error ends the process with an instruction. Each misuse is committed in a process of its
/// own.
@Suite struct MisuseIsLoudTests {
  @Test(arguments: WrongUse.all)
  func `a wrong use fails with a sentence of advice`(use: WrongUse) async throws {
    let description = use.description
    var said = ""
    // On a busy machine, the output of a process that ends at once may be lost. The test therefore repeats a silent
    // process.
    for _ in 0..<3 where !said.contains(use.advice) {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        [description = description as String] in
        ProcessLimit.begin()
        try await #require(WrongUse.described(description)).commit()
      }
      said = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    }
    #expect(said.contains("Fatal error: "), "A trap must end the process, not an error.")
    #expect(said.contains(use.advice))
  }

  @Test func `wrong uses have different names`() {
    #expect(Set(WrongUse.all.map(\.description)).count == WrongUse.all.count)
  }
}
