import Coherence
import CoherenceModelMacros
import Foundation

@Entity final class Album: ManagedObject {
  var title: String
  var year: Int?
  @Relationship(deleteRule: .cascade) var tracks: OrderedToMany<Track>
  #Index<Album>([\.year])
}

@Entity final class Track: ManagedObject {
  var title: String
  var length: Duration
  @Relationship(inverse: \Album.tracks) var album: Album?
}

/// The small program of the articles for newcomers from other libraries.
enum MusicLibrary {
  typealias Container = GenericPersistentContainer<ContextStrategy.Mixed>

  static func open(in directory: URL? = nil) throws -> Container {
    let model = try ManagedObjectModel(Album.self, Track.self, name: "Library")
    let container = Container(name: "Library", managedObjectModel: model, storeLocation: directory)
    try container.attachPersistentStore(for: StoreConfiguration(type: .sqlite))
    return container
  }

  @MainActor static func insert(in container: Container) throws {
    let view = container.mainContext
    let album = try Album(context: view)
    album.title = "Pastel Blues"
    album.year = 1965
    try view.save()
  }

  @MainActor static func titles(in container: Container) throws -> [String] {
    let request = FetchRequest(Album.self)
      .filter { $0.year >= 1960 && $0.title.hasPrefix("Pastel") }
      .sort(\.title)
      .limit(20)
    return try container.mainContext.fetch(request).map(\.title)
  }

  @MainActor static func addTrack(in container: Container) throws {
    let view = container.mainContext
    let request = FetchRequest(Album.self).filter { $0.title == "Pastel Blues" }
    guard let album = try view.fetchFirst(request) else { return }
    let track = try Track(context: view)
    track.title = "Sinnerman"
    track.length = .seconds(622)
    album.tracks.append(track)  // track.album is the album now
    try view.save()
  }

  @MainActor static func longTracks(in container: Container) throws -> [String] {
    let request = FetchRequest(Track.self)
      .filter { $0.length > .seconds(600) && $0.album.year < 1970 }
      .sort(\.album.title)
      .prefetch(\.album)
    return try container.mainContext.fetch(request).map { "\($0.album?.title ?? ""): \($0.title)" }
  }

  static func importAlbums(_ titles: [String], into container: Container) async throws -> [ManagedObjectID] {
    try await container.performBackgroundTask { context in
      let albums = try titles.map { title in
        let album = try Album(context: context)
        album.title = title
        return album
      }
      try context.save()
      return albums.map(\.objectID)
    }
  }

  @MainActor static func title(of id: ManagedObjectID, in container: Container) throws -> String? {
    try container.mainContext.objects(for: [id], as: Album.self).first?.title
  }

  /// Calls a function with the albums of now and after each save of albums, until the function returns `false`.
  @MainActor static func observe(
    _ container: Container, _ show: @MainActor ([Album.Snapshot]) -> Bool
  ) async throws {
    let changes = try container.entityChanges(of: Album.entityName)
    let request = FetchRequest(Album.self).sort(\.title)
    guard show(try container.mainContext.snapshots(of: request)) else { return }
    for await _ in changes {
      guard show(try container.mainContext.snapshots(of: request)) else { return }
    }
  }
}
