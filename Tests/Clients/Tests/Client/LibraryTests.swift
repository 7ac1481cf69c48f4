import Testing

@testable import coherence_library

@Suite("The client with a model file")
struct LibraryTests {
  @Test func `classes that the plugin writes save and fetch records`() throws {
    #expect(try Library.titles() == ["The Dispossessed"])
  }
}
