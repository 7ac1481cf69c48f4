import CoherenceCore
import CoherenceInMemory
import Testing

/// Reads of a few members of long lists. They run in a cancelled task, because a visit of all members ends with an error
/// there.
@Suite("Members in the in-memory store")
struct InMemoryMemberTests {
  /// More members than the store visits before it looks at the cancellation of the task.
  private static let count: Int64 = 3_000
  private let music: MusicFixture
  /// The unordered relationships to albums: one-to-many and many-to-many.
  private let relationships: [RelationshipDescription]

  init() throws {
    let music = try MusicFixture(
      model: ManagedObjectModel {
        Entity("Artist") { Relationship("albums", toMany: "Album", inverse: "artist") }
        Entity("Album") {
          Attribute("year", .int64, optional: true)
          Relationship("artist", toOne: "Artist", inverse: "albums")
          Relationship("genres", toMany: "Genre", inverse: "albums")
        }
        Entity("LiveAlbum", parent: "Album")
        Entity("Genre") { Relationship("albums", toMany: "Album", inverse: "genres") }
      })
    let artist = AttributeValue.reference(music.id(music.artist, 1))
    let albums = (1...Self.count).map { music.row(music.album, $0, ["artist": artist]) }
    try music.save(
      .insert(music.artist, [music.row(music.artist, 1, [:])]), .insert(music.genre, [music.row(music.genre, 1, [:])]),
      .insert(music.album, albums + [music.row(music.album, Self.count + 1, [:])]))
    try music.save(.link(music.links(), (1...Self.count).map { try music.link(album: $0, genre: 1) }))
    relationships = try [music.artist, music.genre].map { try #require($0.relationship(named: "albums")) }
    self.music = music
  }

  private func isAlbum(_ keys: Int64...) -> FetchPredicate {
    .membership(.path(.own), in: keys.map { .reference(music.id(music.album, $0)) })
  }

  private func inCancelledTask<T: Sendable>(
    _ body: @escaping @Sendable (any MemberReading) throws -> T
  ) async throws -> T {
    let store = music.store
    return try await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      let reader = try store.makeReader()
      defer { reader.finish() }
      return try body(try #require(reader as? any MemberReading))
    }.value
  }

  private func count(_ query: StoreQuery, of relationship: RelationshipDescription) async throws -> Int? {
    try await inCancelledTask { try $0.countMembers(MemberQuery(relationship: relationship, owner: 1, query: query)) }
  }

  private func keys(_ query: StoreQuery, of relationship: RelationshipDescription) async throws -> [Int64] {
    try await inCancelledTask { reader in
      let fetch = try #require(
        try reader.fetchMembers(MemberQuery(relationship: relationship, owner: 1, query: query)))
      var rows: [Row] = []
      while try fetch.cursor.next(into: &rows) {}
      return rows.map(\.key)
    }
  }

  @Test func `a look-up of records in a long list visits no other member`() async throws {
    for relationship in relationships {
      #expect(try await count(StoreQuery(entity: music.album, predicate: isAlbum(7)), of: relationship) == 1)
      let other = StoreQuery(entity: music.album, predicate: isAlbum(Self.count + 1))
      #expect(try await count(other, of: relationship) == 0)
      let several = StoreQuery(entity: music.album, predicate: isAlbum(9, Self.count + 1, 8))
      #expect(try await keys(several, of: relationship) == [8, 9])
      let both = StoreQuery(entity: music.album, predicate: .and([isAlbum(7), .equal("year", .int(1971))]))
      #expect(try await count(both, of: relationship) == 0)
    }
  }

  @Test func `the first members of a long list are read without a visit of the other members`() async throws {
    var query = StoreQuery(entity: music.album)
    (query.limit, query.offset) = (2, 1)
    for relationship in relationships { #expect(try await keys(query, of: relationship) == [2, 3]) }
  }

  @Test func `a visit of all members ends with the cancellation of its task`() async throws {
    let query = StoreQuery(entity: music.album, predicate: .equal("year", .int(1971)))
    for relationship in relationships {
      let error = await #expect(throws: CoherenceError.self) { try await count(query, of: relationship) }
      #expect(error?.code == .cancelled)
    }
  }
}
