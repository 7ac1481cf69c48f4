import CoherenceCore
import Testing

@Suite struct InMemoryLinkTests {
  private let music: MusicFixture

  init() throws {
    music = try MusicFixture()
    try music.addBand()
    try music.save(.insert(music.genre, (1...4).map { music.row(music.genre, $0, ["name": .string("genre \($0)")]) }))
  }

  private func link(_ genres: [(key: Int64, place: Int64?)], to album: Int64 = 1) throws {
    try music.save(.link(music.links(), genres.map { try music.link(album: album, genre: $0.key, at: $0.place) }))
  }

  @Test func `links are ordered by position, missing positions first, ties by key`() throws {
    try link([(1, 2), (2, 1), (4, nil), (3, 1)])
    try link([(1, nil)], to: 2)
    #expect(try music.genres(of: [1]) == [4, 2, 3, 1])
    #expect(try music.genres(of: [2, 1, 1, 9]) == [4, 2, 3, 1, 1])
  }

  @Test func `linking again moves`() throws {
    try link([(1, 1), (2, 2)])
    try link([(1, 3)])
    #expect(try music.genres(of: [1]) == [2, 1])
  }

  @Test func `both sides show an inserted link and its deletion`() throws {
    try link([(1, 1)])
    let member = FetchPredicate.quantified(.any, PropertyPath("albums"), .equal("title", .string("Tago Mago")))
    let owner = FetchPredicate.quantified(.any, PropertyPath("genres"), .equal("name", .string("genre 1")))
    #expect(try music.keys(StoreQuery(entity: music.genre, predicate: member)) == [1])
    #expect(try music.keys(StoreQuery(entity: music.album, predicate: owner)) == [1])
    let links = try [music.link(album: 1, genre: 1), music.link(album: 3, genre: 3)]
    try music.save(.unlink(music.links(), links))
    #expect(try music.keys(StoreQuery(entity: music.genre, predicate: member)).isEmpty)
    #expect(try music.keys(StoreQuery(entity: music.album, predicate: owner)).isEmpty)
  }

  @Test func `a link needs both its ends`() throws {
    for (album, genre) in [(77, 1), (1, 77)] as [(Int64, Int64)] {
      let error = try MusicFixture.error { try link([(genre, nil)], to: album) }
      #expect(error.code == .danglingReference)
      #expect(Set(error.objectIDs) == [music.id(music.album, album), music.id(music.genre, genre)])
    }
    #expect(try music.genres(of: [1, 77]).isEmpty)
  }

  @Test func `deleting a linked record before its links is refused`() throws {
    try link([(1, nil)], to: 3)
    let delete = SaveStep.delete(music.album, [RowDelete(id: music.id(music.album, 3), baseVersion: 1)])
    #expect(try MusicFixture.error { try music.save(delete) }.code == .danglingReference)
    try music.save(.unlink(music.links(), [music.link(album: 3, genre: 1)]), delete)
    #expect(try music.row(music.album, at: 3) == nil)
  }
}
