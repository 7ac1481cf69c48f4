import Coherence

/// The albums of the user, in a store.
struct Shelf: Sendable {
  static let model = Result { try ManagedObjectModel(Artist.self, Album.self, Track.self, name: "Shelf") }

  let connect: GenericConnect<ContextStrategy.Mixed>

  /// Opens the store, in a file or in memory.
  init(in type: StoreType = .sqlite) async throws {
    connect = GenericConnect(name: "Shelf", managedObjectModel: try Self.model.get())
    try connect.attachPersistentStore(for: StoreConfiguration(type: type))
    try await connect.start()
  }

  /// Waits for unfinished actions and closes the store.
  func close() async throws { try await connect.stop(.drain) }

  // MARK: Background

  /// Saves an album with its artist and its tracks, in a background task.
  func add(_ title: String, code: String, by name: String, tracks: [String] = []) async throws {
    try await connect.performBackgroundTask { context in
      let known = try context.fetchFirst(FetchRequest(Artist.self).filter { $0.name == name })
      let artist = try known ?? Artist(context: context)
      artist.name = name
      let album = try Album(context: context)
      album.code = code
      album.title = title
      album.artist = artist
      for title in tracks {
        let track = try Track(context: context)
        track.title = title
        album.tracks.append(track)
      }
      try context.save()
    }
  }

  // MARK: View

  /// Marks an album as a favourite, in the view context.
  @MainActor func markFavourite(code: String) throws {
    let view = connect.mainContext
    for album in try view.fetch(FetchRequest(Album.self).filter { $0.code == code }) { album.isFavourite = true }
    try view.save()
  }

  /// Returns a line for each album, from the view context.
  @MainActor func lines() throws -> [String] {
    let request = FetchRequest(Album.self).sort(\.artist.name).sort(\.title).prefetch(\.artist).prefetch(\.tracks)
    return try connect.mainContext.fetch(request).map { album in
      let mark = album.isFavourite ? "* " : ""
      return "\(mark)\(album.artist?.name ?? "Unknown"): \(album.title), \(album.tracks.count) tracks"
    }
  }
}
