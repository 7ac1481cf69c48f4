import CoherenceCore
import TestSupport
import Testing

/// The statements of a cascade in the log of a PostgreSQL store.
@Suite(.needsServer) struct CascadeStatementTests {
  private let artists: CascadingArtists

  init() throws { artists = try CascadingArtists(.postgreSQL) }

  /// The statements of a cascade.
  private struct Cascade {
    /// The number of reads.
    let reads: Int
    /// The numbers of statements in each pipeline of the save.
    let pipelines: [Int]
    /// The texts of the statements that delete, each once for all of its rows.
    let deletes: [String]
    /// The number of statements that update.
    let updates: Int
  }

  private func delete(_ id: ManagedObjectID) throws -> Cascade {
    try artists.deleteArtist(id)
    let messages = artists.log.messages
    return Cascade(
      reads: artists.log.reads.count,
      pipelines: messages.filter { $0.hasPrefix("save, ") }.compactMap { Int($0.split(separator: " ")[1]) },
      deletes: messages.filter { $0.hasPrefix("DELETE FROM ") },
      updates: messages.count { $0.hasPrefix("UPDATE ") })
  }

  @Test func `a cascade reads each level once, and its save deletes in one pipeline of few statements`() throws {
    let few = try delete(artists.insertArtist(albums: 2, tracks: 3))
    let many = try delete(artists.insertArtist(albums: 100, tracks: 100))
    #expect(few.reads == many.reads, "\(few.reads) \(many.reads)")
    #expect(many.reads <= 4)
    #expect(few.deletes.count == 3 && many.deletes.count == 3, "\(many.deletes)")
    #expect(few.pipelines.count == 1 && many.pipelines.count == 1)
    // A statement for the artist, one for the albums, and one for each 4,096 tracks.
    #expect(many.pipelines.first.map { $0 <= 10 } == true, "\(many.pipelines)")
    // A row is deleted before the row that it refers to, so that no reference has to be cleared.
    #expect(many.updates == 0)
    let left = artists.context()
    let counts = try left.performAndWait {
      try ["Artist", "Album", "Track"].map { try left.count(for: FetchRequest<ManagedObject>(entityName: $0)) }
    }
    #expect(counts == [0, 0, 0])
  }
}
