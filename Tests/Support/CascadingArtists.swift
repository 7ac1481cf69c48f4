package import CoherenceCore

/// A new store of artists whose deletes cascade to their albums, and from these to the tracks.
package struct CascadingArtists: Sendable {
  private let stack: LoggedStore

  package var log: MessageLog { stack.log }

  package init(_ backend: Backend, target: String = #fileID) throws {
    let model = try ManagedObjectModel {
      Entity("Artist") { Relationship("albums", toMany: "Album", inverse: "artist", deleteRule: .cascade) }
      Entity("Album") {
        Relationship("artist", toOne: "Artist", inverse: "albums")
        Relationship("tracks", toMany: "Track", inverse: "album", ordered: true, deleteRule: .cascade)
      }
      Entity("Track") {
        Attribute("title", .string)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
    }
    stack = try LoggedStore(backend, model, target: target)
  }

  package func context() -> ManagedObjectContext { stack.context() }

  /// Saves an artist with albums of as many tracks each.
  package func insertArtist(albums: Int, tracks: Int) throws -> ManagedObjectID {
    try stack.write { context in
      let artist = try context.insertNewObject(forEntityName: "Artist")
      for _ in 0..<albums {
        let album = try context.insertNewObject(forEntityName: "Album")
        try album.setObject(artist, for: "artist")
        for number in 0..<tracks {
          let track = try context.insertNewObject(forEntityName: "Track")
          try track.setValue("\(number)", for: "title")
          try track.setObject(album, for: "album")
        }
      }
      try context.save()
      return artist.objectID
    }
  }

  /// Deletes an artist in a new context, which has read the artist before, and saves. Afterwards the log has the
  /// statements of the delete and the save alone.
  package func deleteArtist(_ id: ManagedObjectID) throws {
    try stack.write { context in
      let artist = try context.existingObject(with: id)
      log.removeAll()
      context.delete(artist)
    }
  }
}
