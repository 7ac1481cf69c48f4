import CoherenceCore
import CoherenceInMemory
import Testing

@Suite struct InMemorySharingTests {
  private let options: [String: OptionValue] = [
    InMemoryOption.sharedName: .string("shared \(UInt64.random(in: 0...(.max)))")
  ]

  @Test func `stores with one name share content, identity and keys`() throws {
    let first = try MusicFixture(options: options)
    try first.addBand()
    let second = try MusicFixture(model: first.model, options: options)
    #expect(second.store.identifier == first.store.identifier)
    #expect(try second.keys(StoreQuery(entity: second.album)) == [1, 2, 3, 4])
    #expect(try second.row(second.album, at: 1)?.id == first.id(first.album, 1))
    let keys = try first.store.allocateKeys(1, for: first.album)
    #expect(try second.store.allocateKeys(1, for: second.album).lowerBound == keys.upperBound)
  }

  @Test func `shared content is kept while one of its stores is open`() throws {
    let first = try MusicFixture(options: options)
    try first.addBand()
    let second = try MusicFixture(model: first.model, options: options)
    first.store.close()
    #expect(try second.keys(StoreQuery(entity: second.artist)) == [1])
    second.store.close()
    let third = try MusicFixture(model: first.model, options: options)
    #expect(try third.keys(StoreQuery(entity: third.artist)).isEmpty)
    #expect(third.store.identifier != first.store.identifier)
  }

  @Test func `another model under the same name is refused`() throws {
    let first = try MusicFixture(options: options)
    #expect(try MusicFixture.error { _ = try MusicFixture(options: options) }.code == .incompatibleModel)
    first.store.close()
    _ = try MusicFixture(options: options)
  }

  @Test func `setting aside leaves the open store alone and frees the name`() throws {
    let first = try MusicFixture(options: options)
    try first.addBand()
    let factory = try #require(StoreType.inMemory.factory)
    #expect(try factory.metadata(first.store.environment)?.identifier == first.store.identifier)
    _ = try factory.setAside(first.store.environment)
    #expect(try factory.metadata(first.store.environment) == nil)
    let second = try MusicFixture(options: options)
    #expect(try second.keys(StoreQuery(entity: second.artist)).isEmpty)
    #expect(try first.keys(StoreQuery(entity: first.artist)) == [1])
  }

  @Test(arguments: [OptionValue.string(""), .bool(true)])
  func `a name of another type than text is refused`(name: OptionValue) throws {
    let error = try MusicFixture.error { _ = try MusicFixture(options: [InMemoryOption.sharedName: name]) }
    #expect(error.code == .invalidOption)
  }
}
