import CoherenceCore
import Testing

@Suite struct InMemorySaveTests {
  private let music: MusicFixture

  init() throws {
    music = try MusicFixture()
    try music.addBand()
  }

  /// A step that renames artists, based on a version.
  private func rename(_ names: [Int64: AttributeValue], base: Int64 = 1) -> SaveStep {
    let updates = names.sorted { $0.key < $1.key }.map { key, name in
      RowUpdate(row: music.row(music.artist, key, version: base + 1, ["name": name]), baseVersion: base)
    }
    return .update(music.artist, slots: music.slots(music.artist, "name"), updates)
  }

  private func addArtists(_ names: [Int64: String]) throws {
    try music.save(.insert(music.artist, names.map { music.row(music.artist, $0, ["name": .string($1)]) }))
  }

  private func name(of artist: Int64) throws -> AttributeValue? {
    try music.row(music.artist, at: artist).map { try music.value("name", of: $0) }
  }

  // MARK: Versions

  @Test func `an update writes only its slots and the new version`() throws {
    let row = music.row(music.album, 1, version: 2, ["title": .string("Renamed")])
    try music.save(
      .update(music.album, slots: music.slots(music.album, "title"), [RowUpdate(row: row, baseVersion: 1)]))
    let stored = try #require(try music.row(music.album, at: 1))
    #expect(stored.version == 2)
    #expect(try music.value("title", of: stored) == .string("Renamed"))
    #expect(try music.value("year", of: stored) == .int(1971))
  }

  @Test func `all conflicts are reported at once, with the rows of the store`() throws {
    try music.save(rename([1: .string("Can II")]))
    let failure = try #require(throws: StoreConflict.Failure.self) {
      try music.save(
        .delete(music.album, [RowDelete(id: music.id(music.album, 77), baseVersion: 1)]), rename([1: .string("No")]),
        .delete(music.album, [RowDelete(id: music.id(music.album, 3), baseVersion: 1)]))
    }
    #expect(failure.conflicts.map(\.id) == [music.id(music.album, 77), music.id(music.artist, 1)])
    #expect(failure.conflicts.map(\.storeRow?.version) == [nil, 2])
    #expect(try music.row(music.album, at: 3) != nil)
  }

  @Test func `versions are checked before uniqueness, and uniqueness before references`() throws {
    try addArtists([2: "Neu!"])
    let twin = SaveStep.insert(music.artist, [music.row(music.artist, 3, ["name": .string("Can")])])
    let stray = music.row(music.album, 9, ["title": .string("x"), "artist": .reference(music.id(music.artist, 50))])
    let dangling = SaveStep.insert(music.album, [stray])
    #expect(throws: StoreConflict.Failure.self) { try music.save(dangling, twin, rename([2: .string("x")], base: 7)) }
    #expect(try MusicFixture.error { try music.save(dangling, twin) }.code == .uniquenessViolated)
    #expect(try MusicFixture.error { try music.save(dangling) }.code == .danglingReference)
    #expect(try music.row(music.album, at: 9) == nil)
    #expect(try music.row(music.artist, at: 3) == nil)
  }

  @Test func `a new record with a used key is refused`() throws {
    let row = music.row(music.liveAlbum, 1, ["title": .string("x")])
    #expect(try MusicFixture.error { try music.save(.insert(music.liveAlbum, [row])) }.code == .storeCorrupt)
  }

  // MARK: Uniqueness

  @Test func `a violation names both records and no value`() throws {
    let error = try MusicFixture.error { try addArtists([2: "Can"]) }
    #expect(error.code == .uniquenessViolated)
    #expect(error.objectIDs == [music.id(music.artist, 2), music.id(music.artist, 1)])
    #expect(error.message.contains("'name'"))
    #expect(!error.description.contains("Can"))
  }

  @Test func `records can swap unique values`() throws {
    try addArtists([2: "Neu!"])
    let cleared = [1, 2].map { music.row(music.artist, $0, [:]) }
    try music.save(
      .fix(music.artist, slots: music.slots(music.artist, "name"), cleared),
      rename([1: .string("Neu!"), 2: .string("Can")]))
    #expect(try name(of: 1) == .string("Neu!"))
    #expect(try name(of: 2) == .string("Can"))
    #expect(try MusicFixture.error { try addArtists([3: "Neu!"]) }.objectIDs.last == music.id(music.artist, 1))
  }

  @Test func `a unique value is free again after its record was deleted or has another value`() throws {
    try music.save(rename([1: .string("Can II")]))
    try addArtists([2: "Can"])
    try music.save(.delete(music.artist, [RowDelete(id: music.id(music.artist, 2), baseVersion: 1)]))
    try addArtists([3: "Can"])
  }

  @Test func `missing values are not compared`() throws {
    try music.save(.insert(music.artist, [2, 3].map { music.row(music.artist, $0, [:]) }))
    let live = (10..<12).map { music.row(music.liveAlbum, $0, ["title": .string("x"), "venue": .string("Hall")]) }
    try music.save(.insert(music.liveAlbum, live))
  }

  @Test func `a constraint of several properties compares them together`() throws {
    func album(_ key: Int64, _ year: Int64) -> SaveStep {
      let values: [String: AttributeValue] = ["title": .string("x"), "venue": .string("Hall"), "year": .int(year)]
      return .insert(music.liveAlbum, [music.row(music.liveAlbum, key, values)])
    }
    try music.save(album(10, 1990), album(11, 1991))
    #expect(try MusicFixture.error { try music.save(album(12, 1991)) }.code == .uniquenessViolated)
  }

  // MARK: References

  @Test func `deleting a referenced record is refused`() throws {
    let delete = SaveStep.delete(music.artist, [RowDelete(id: music.id(music.artist, 1), baseVersion: 1)])
    let error = try MusicFixture.error { try music.save(delete) }
    #expect(error.code == .danglingReference)
    #expect(error.objectIDs == [music.id(music.album, 1), music.id(music.artist, 1)])
    #expect(try music.row(music.artist, at: 1) != nil)
  }

  @Test func `a record can be deleted if the same save clears references to it`() throws {
    let cleared = [1, 2, 4].map { music.row($0 == 4 ? music.liveAlbum : music.album, $0, [:]) }
    try music.save(
      .fix(music.album, slots: music.slots(music.album, "artist"), cleared),
      .delete(music.artist, [RowDelete(id: music.id(music.artist, 1), baseVersion: 1)]))
    #expect(try music.row(music.artist, at: 1) == nil)
    let album = try #require(try music.row(music.album, at: 4))
    #expect(try music.value("artist", of: album) == .null)
    #expect(album.version == 1)
    #expect(album.entity === music.liveAlbum)
  }

  @Test func `a reference to a record inserted later is set after its insert`() throws {
    let full = music.row(music.album, 20, ["title": .string("x"), "artist": .reference(music.id(music.artist, 20))])
    try music.save(
      .insert(music.album, [music.row(music.album, 20, ["title": .string("x")])]),
      .insert(music.artist, [music.row(music.artist, 20, ["name": .string("New")])]),
      .fix(music.album, slots: music.slots(music.album, "artist"), [full]))
    let query = StoreQuery(entity: music.album, predicate: .equal("artist", .reference(music.id(music.artist, 20))))
    #expect(try music.keys(query) == [20])
  }

  @Test func `a relationship without inverse may dangle`() throws {
    let sequel = AttributeValue.reference(music.id(music.album, 3))
    try music.save(.insert(music.album, [music.row(music.album, 9, ["title": .string("x"), "sequel": sequel])]))
    try music.save(.delete(music.album, [RowDelete(id: music.id(music.album, 3), baseVersion: 1)]))
    #expect(try music.keys(StoreQuery(entity: music.album, predicate: .equal("sequel.title", .null))).contains(9))
  }
}
