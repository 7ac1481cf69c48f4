import CoherenceCore
import CoherenceInMemory
import Testing

@Suite struct InMemoryReaderTests {
  private let music: MusicFixture

  init() throws {
    music = try MusicFixture()
    try music.addBand()
  }

  @Test func `a used reader throws storeDetached after its end`() throws {
    let reader = try music.store.makeReader()
    #expect(try reader.row(1, of: music.album) != nil)
    reader.finish()
    #expect(try MusicFixture.error { _ = try reader.row(1, of: music.album) }.code == .storeDetached)
  }

  @Test func `a closed cursor returns no further rows`() throws {
    let reader = try music.store.makeReader()
    defer { reader.finish() }
    let cursor = try reader.fetch(StoreQuery(entity: music.album)).cursor
    cursor.close()
    var rows: [Row] = []
    #expect(try !cursor.next(into: &rows))
    #expect(rows.isEmpty)
  }

  @Test func `a request for no keys takes none`() throws {
    let next = try music.store.allocateKeys(0, for: music.album)
    #expect(next.isEmpty)
    #expect(try music.store.allocateKeys(1, for: music.album).lowerBound == next.lowerBound)
  }

  @Test func `keys for an entity of another configuration are refused by name`() throws {
    let (store, other) = try MusicFixture.storeWithoutEntity()
    let error = try MusicFixture.error { _ = try store.allocateKeys(1, for: other) }
    #expect(error.code == .noStore && error.message.contains("'B'"))
  }

  @Test func `a batch delete of the owner clears the position of an ordered member`() throws {
    guard case .inverseColumn(_, let position?)? = music.artist.relationship(named: "albums")?.storage else {
      throw CoherenceError(.invalidModel, "The albums of an artist have no positions.")
    }
    let former = try #require(try music.row(music.album, at: 1))
    try music.save(
      .update(
        music.album, slots: SlotSet([position]),
        [RowUpdate(row: former.revised(setting: [position: .int(7)]), baseVersion: former.version)]))
    #expect(try music.row(music.album, at: 1)?[position] == .int(7))
    let store = try #require(music.store as? any BatchExecuting)
    _ = try store.batchDelete(StoreQuery(entity: music.artist))
    let album = try #require(try music.row(music.album, at: 1))
    #expect(album[position] == .null)
    #expect(try music.value("artist", of: album) == .null)
  }

  // MARK: Explanations

  private func steps(_ query: StoreQuery) throws -> [QueryStep] {
    let reader = try music.store.makeReader()
    defer { reader.finish() }
    return try #require(reader as? any QueryExplaining).explain(query).steps
  }

  @Test func `the explanation of a fetch by identifiers names the key`() throws {
    let identifier = AttributeValue.reference(music.id(music.album, 2))
    let predicate = FetchPredicate.comparison(.path(PropertyPath(names: [])), .equal, .value(identifier))
    let search = QueryStep("Search", table: "Album", index: "key", estimatedRecords: 1)
    #expect(
      try steps(StoreQuery(entity: music.album, predicate: predicate))
        == [QueryStep("Sort", steps: [QueryStep("Filter", steps: [search])])])
  }

  @Test func `the explanation of a fetch behind an offset has a range`() throws {
    let scan = QueryStep("Scan", table: "Album", estimatedRecords: 4)
    #expect(
      try steps(StoreQuery(entity: music.album, offset: 1))
        == [QueryStep("Range", steps: [QueryStep("Sort", steps: [scan])])])
  }

  @Test func `the explanation of an order by a missing property throws as the fetch does`() throws {
    let query = StoreQuery(entity: music.album, sortKeys: [SortKey("nothing")])
    let explained = try MusicFixture.error { _ = try steps(query) }
    let fetched = try MusicFixture.error { _ = try music.keys(query) }
    #expect(explained.code == fetched.code)
  }

  // MARK: Names

  private func shared(_ options: [String: OptionValue] = [:]) -> [String: OptionValue] {
    let name = OptionValue.string("reader \(UInt64.random(in: 0...(.max)))")
    return options.merging([InMemoryOption.sharedName: name]) { $1 }
  }

  @Test func `a program with a part of the model opens a store of a name, and makes none`() throws {
    var options = shared([StoreOption.partialModel: true])
    let model = music.model
    let error = try MusicFixture.error { _ = try MusicFixture(model: model, options: options) }
    #expect(error.code == .notADatabase)
    options[StoreOption.partialModel] = nil
    let whole = try MusicFixture(model: model, options: options)
    try whole.addBand()
    options[StoreOption.partialModel] = true
    let partial = try MusicFixture(model: model, options: options)
    #expect(try partial.keys(StoreQuery(entity: partial.artist)) == [1])
    withExtendedLifetime(whole) {}
  }

  @Test func `erasing frees the name of a store`() throws {
    let whole = try MusicFixture(options: shared())
    let factory = try #require(StoreType.inMemory.factory as? any StoreErasing)
    #expect(try factory.metadata(whole.store.environment)?.identifier == whole.store.identifier)
    try factory.erase(whole.store.environment)
    #expect(try factory.metadata(whole.store.environment) == nil)
    withExtendedLifetime(whole) {}
  }

  @Test func `setting a store without a name aside says that it begins empty`() throws {
    let factory = try #require(StoreType.inMemory.factory)
    #expect(try factory.setAside(music.store.environment) == "nowhere: an in-memory store begins empty")
  }
}
