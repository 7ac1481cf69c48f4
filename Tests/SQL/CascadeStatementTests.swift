import CoherenceCore
import TestSupport
import Testing

/// The statements of deletes with a cascade, in the logs of SQL stores.
@Suite struct CascadeStatementTests {
  /// Deletes all albums of an artist in a loop that reads the relationships of each album, and saves. Returns the
  /// number of reads.
  private func deleteAlbumsWhileReading(of id: ManagedObjectID, in artists: CascadingArtists) throws -> Int {
    let context = artists.context()
    return try context.performAndWait {
      let artist = try context.existingObject(with: id)
      artists.log.removeAll()
      for album in try artist.objects(for: "albums") {
        let members = try album.objects(for: "tracks")
        if !members.isEmpty, try album.object(for: "artist") != nil { context.delete(album) }
      }
      try context.save()
      return artists.log.reads.count
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `reads between the deletes of a loop let the delete rules be applied together`(backend: Backend) throws {
    let artists = try CascadingArtists(backend)
    let few = try deleteAlbumsWhileReading(of: artists.insertArtist(albums: 2, tracks: 3), in: artists)
    let many = try deleteAlbumsWhileReading(of: artists.insertArtist(albums: 100, tracks: 3), in: artists)
    #expect(many <= few + 2, "\(few) \(many)")
  }
}
