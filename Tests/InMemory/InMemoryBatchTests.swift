import CoherenceCore
import Testing

@Suite struct InMemoryBatchTests {
  private let music: MusicFixture
  private let store: any BatchExecuting

  init() throws {
    music = try MusicFixture()
    store = try #require(music.store as? any BatchExecuting)
    try music.addBand()
  }

  @Test func `a batch update changes the matching records and their versions`() throws {
    let year = try #require(music.album.attribute(named: "year")).slot
    let late = FetchPredicate.comparison(.path(PropertyPath("year")), .greater, .value(.int(1971)))
    let updated = try store.batchUpdate(StoreQuery(entity: music.album, predicate: late), values: [year: .int(2000)])
    #expect(updated == [music.id(music.album, 2), music.id(music.album, 4)])
    #expect(try music.row(music.album, at: 4)?.version == 2)
    #expect(try music.row(music.album, at: 1)?.version == 1)
    #expect(try music.keys(StoreQuery(entity: music.album, predicate: .equal("year", .int(2000)))) == [2, 4])
  }

  @Test func `a batch update that breaks a constraint changes nothing`() throws {
    try music.save(.insert(music.artist, [music.row(music.artist, 2, ["name": .string("Neu!")])]))
    let name = try #require(music.artist.attribute(named: "name")).slot
    let query = StoreQuery(entity: music.artist)
    let error = try MusicFixture.error { _ = try store.batchUpdate(query, values: [name: .string("One")]) }
    #expect(error.code == .uniquenessViolated)
    #expect(try music.row(music.artist, at: 1)?.version == 1)
  }

  @Test func `a batch delete removes links and clears references`() throws {
    try music.save(
      .insert(music.genre, [music.row(music.genre, 1, ["name": .string("Krautrock")])]),
      .link(try music.links(), [try music.link(album: 3, genre: 1)]))
    let artists = try #require(try store.batchDelete(StoreQuery(entity: music.artist)))
    #expect(artists.deleted == [music.id(music.artist, 1)])
    #expect(artists.updated == [1, 2, 4].map { music.id(music.album, $0) })
    let album = try #require(try music.row(music.album, at: 2))
    #expect(album.version == 2)
    #expect(try music.value("artist", of: album) == .null)

    let albums = try #require(try store.batchDelete(StoreQuery(entity: music.album)))
    #expect(albums.deleted.count == 4)
    #expect(albums.updated.isEmpty)
    #expect(try music.genres(of: [3]).isEmpty)
  }
}
