import CoherenceCore
import TestSupport
import Testing

/// The statements of a cascade in the log of a SQLite store.
@Suite struct CascadeStatementTests {
  private let artists: CascadingArtists

  init() throws { artists = try CascadingArtists(.sqlite) }

  /// The reads of a cascade, and the statements of its save.
  private func delete(_ id: ManagedObjectID) throws -> (reads: Int, runs: [StatementRun], updates: Int) {
    try artists.deleteArtist(id)
    let runs = artists.log.runs
    return (artists.log.reads.count, runs.filter { $0.verb == "DELETE" }, runs.count { $0.verb == "UPDATE" })
  }

  @Test func `a cascade reads each level once, and its save deletes with one statement for each entity`() throws {
    let few = try delete(artists.insertArtist(albums: 2, tracks: 3))
    let many = try delete(artists.insertArtist(albums: 100, tracks: 100))
    #expect(few.reads == many.reads, "\(few) \(many)")
    #expect(many.reads <= 4)
    #expect(few.runs.map(\.times).sorted() == [1, 2, 6])
    // One save has inserted the albums and the tracks, whose keys are consecutive.
    #expect(many.runs.map(\.times) == [1, 1, 1])
    // A row is deleted before the row that it refers to, so that no reference has to be cleared.
    #expect(many.updates == 0)
  }
}
