import CoherenceCore
import CoherenceInMemory
import Testing

@Suite struct InMemoryStoreTests {
  @Test func `each store has a different identifier`() throws {
    let model = try MusicFixture.makeModel()
    let first = try MusicFixture(model: model).store
    let second = try MusicFixture(model: model).store
    #expect(first.identifier != second.identifier)
    #expect(try first.metadata().identifier == first.identifier)
    #expect(try first.metadata().versionHashes.keys.sorted() == ["Album", "Artist", "Genre", "LiveAlbum"])
  }

  @Test func `a store in memory reads during a save, and is neither durable nor shared nor a file`() throws {
    #expect(try MusicFixture().store.capabilities == .concurrentReads)
  }

  @Test func `user info is kept with the metadata`() throws {
    let store = try MusicFixture().store
    try store.setUserInfo(["last": "1"])
    #expect(try store.metadata().userInfo == ["last": "1"])
  }

  @Test func `every key is allocated once, also after inserts with other keys`() throws {
    let music = try MusicFixture()
    let first = try music.store.allocateKeys(3, for: music.album)
    #expect(try music.store.allocateKeys(2, for: music.album).lowerBound == first.upperBound)
    try music.save(.insert(music.album, [music.row(music.album, 100, ["title": .string("Hundred")])]))
    #expect(try music.store.allocateKeys(1, for: music.album) == 101..<102)
    #expect(try music.store.allocateKeys(1, for: music.artist) == 1..<2)
  }

  @Test func `a closed store and its readers throw storeDetached`() throws {
    let music = try MusicFixture()
    let reader = try music.store.makeReader()
    _ = try reader.row(1, of: music.album)
    let fetch = try reader.fetch(StoreQuery(entity: music.album))
    music.store.close()
    music.store.close()
    var rows: [Row] = []
    let uses: [() throws -> Void] = [
      { _ = try music.store.makeReader() }, { try music.save() }, { _ = try music.store.metadata() },
      { _ = try reader.row(1, of: music.album) }, { _ = try fetch.cursor.next(into: &rows) },
      { _ = try music.store.allocateKeys(1, for: music.album) },
    ]
    for use in uses { #expect(try MusicFixture.error(of: use).code == .storeDetached) }
  }

  @Test func `a finished reader throws on every read`() throws {
    let music = try MusicFixture()
    let reader = try music.store.makeReader()
    reader.finish()
    #expect(throws: CoherenceError.self) { try reader.row(1, of: music.album) }
  }

  @Test func `a store opened for reading refuses changes`() throws {
    let music = try MusicFixture(options: [StoreOption.readOnly: true])
    #expect(try MusicFixture.error { try music.addBand() }.code == .storeReadOnly)
    #expect(try music.keys(StoreQuery(entity: music.album)).isEmpty)
  }

  @Test func `entities of another configuration are refused by name`() throws {
    let (store, other) = try MusicFixture.storeWithoutEntity()
    let reader = try store.makeReader()
    let error = try MusicFixture.error { _ = try reader.row(1, of: other) }
    #expect(error.code == .noStore)
    #expect(error.message.contains("'B'"))
  }
}
