import CoherencePostgreSQL
import CoherenceStrategies
import Dispatch
import Foundation
import Synchronization
import TestSupport

@testable import CoherenceCore

/// Albums with tracks, in a container whose view the main actor uses without `perform`.
@MainActor final class TurnLibrary {
  final class Album: ManagedObject {
    static let titleKey = AttributeKey<String>("title")
    static let tracksKey = ToManyKey<Track>("tracks")
    var title: String {
      get { self[Self.titleKey] }
      set { self[Self.titleKey] = newValue }
    }
    var tracks: ToMany<Track> { self[Self.tracksKey] }
  }
  final class Track: ManagedObject {
    static let titleKey = AttributeKey<String>("title")
    static let albumKey = ToOneKey<Album>("album")
    var title: String {
      get { self[Self.titleKey] }
      set { self[Self.titleKey] = newValue }
    }
    var album: Album? {
      get { self[Self.albumKey] }
      set { self[Self.albumKey] = newValue }
    }
  }

  nonisolated static let model = try! ManagedObjectModel {
    Entity("Album", class: Album.self) {
      Attribute("title", .string)
      Relationship("tracks", toMany: "Track", inverse: "album")
    }
    Entity("Track", class: Track.self) {
      Attribute("title", .string)
      Relationship("album", toOne: "Album", inverse: "tracks")
    }
  }

  let directory = TemporaryDirectory()
  let container: any PersistentContainer
  let store: any PersistentStore
  var view: ManagedObjectContext { container.viewContext }

  /// The number of albums, each with as many tracks.
  nonisolated static let size = 5

  init(_ strategy: StrategyKind, on backend: Backend, poolSize: Int? = nil) throws {
    container = strategy.makeContainer(model: Self.model, in: directory)
    var configuration = backend.newConfiguration()
    if backend == .postgreSQL, let poolSize { configuration.options[PostgreSQLOption.poolSize] = .int(poolSize) }
    store = try container.attachPersistentStore(for: configuration)
    try Self.write(in: container, Self.fill)
  }

  nonisolated static func fill(_ context: ManagedObjectContext) throws {
    for number in 0..<size {
      let album = try Album(context: context)
      album.title = "Album \(number)"
      for place in 0..<size {
        let track = try Track(context: context)
        track.title = "Track \(number).\(place)"
        track.album = album
      }
    }
  }

  func albums() throws -> [Album] { try view.fetch(FetchRequest<Album>().sort("title")) }
  func tracks() throws -> [Track] { try view.fetch(FetchRequest<Track>().sort("title")) }
  /// The number of readers that the view holds.
  var readerCount: Int { view.lease.readerCount }

  // MARK: Writers

  /// Changes and saves records in a background context on the calling thread.
  nonisolated static func write(
    in container: any PersistentContainer, _ change: (ManagedObjectContext) throws -> Void
  ) throws {
    try container.newBackgroundContext().saving(change)
  }

  /// Changes and saves records on another thread, while the main actor does nothing else.
  func writeOnThread(_ change: @escaping @Sendable (ManagedObjectContext) throws -> Void) throws {
    let done = DispatchSemaphore(value: 0)
    let failure = Mutex<(any Error)?>(nil)
    Thread.detachNewThread { [container] in
      do { try Self.write(in: container, change) } catch { failure.withLock { $0 = error } }
      done.signal()
    }
    done.wait()
    if let error = failure.withLock({ $0 }) { throw error }
  }

  /// Deletes the first album with its tracks, and renames the others.
  nonisolated static func replaceEverything(in context: ManagedObjectContext) throws {
    for track in try context.fetch(FetchRequest<Track>().sort("title")) {
      if track.title.hasPrefix("Track 0.") { context.delete(track) } else { track.title = "new" }
    }
    for album in try context.fetch(FetchRequest<Album>().sort("title")) {
      if album.title == "Album 0" { context.delete(album) } else { album.title = "new" }
    }
  }

  /// Waits for the end of the present turn of the main queue.
  func endTurn() async {
    await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
  }
}
