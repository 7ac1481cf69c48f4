import CoherenceCore
import CoherenceStrategies
import Foundation
import Synchronization
import Testing
import TestSupport

/// A view that shows a list while a background context deletes from it.
@MainActor
@Suite("Vanished objects in the view")
struct VanishedObjectsInViewTests {
  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `an iteration over members during their deletion sees no deleted objects, and the view can be saved`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let (container, directory) = try Self.container(strategy, backend)
    defer { withExtendedLifetime(directory) {} }
    let view = container.viewContext
    let album = try #require(try view.fetch(FetchRequest(ShownAlbum.self)).first)
    let isDone = Atomic<Bool>(false)
    let deletes = Task.detached {
      defer { isDone.store(true, ordering: .relaxed) }
      for _ in 0..<Self.trackCount {
        try await container.performBackgroundTask { context in
          guard let track = try context.fetch(FetchRequest(ShownTrack.self).limit(1)).first else { return }
          context.delete(track)
          try context.save()
        }
      }
    }
    var phantoms = 0
    while !isDone.load(ordering: .relaxed) {
      for track in album.tracks where track.title.isEmpty { phantoms += 1 }
      phantoms += album.tracks.map(\.title).count(where: \.isEmpty)
      await Task.yield()
    }
    try await deletes.value
    #expect(phantoms == 0)
    #expect(view.reportedErrors.isEmpty)
    // The deletes changed the album's list, which is a value of the album: a view that does not follow reads it again.
    if strategy == .directIndependent { view.refreshAll() }
    album.title = "edited"
    try view.save()
    #expect(try view.count(for: FetchRequest(ShownTrack.self)) == 0)
    #expect(album.tracks.map(\.title) == [])
  }

  @Test(arguments: StrategyKind.allCases)
  func `a deleted object of the view is reported once and does not prevent a save of the view`(
    strategy: StrategyKind
  ) async throws {
    let (container, directory) = try Self.container(strategy, .inMemory)
    defer { withExtendedLifetime(directory) {} }
    let view = container.viewContext
    let id = try #require(try view.fetch(FetchRequest(ShownTrack.self)).first).objectID
    try await container.performBackgroundTask { context in
      context.delete(try context.existingObject(with: id))
      try context.save()
    }
    let track = try #require(view.object(with: id) as? ShownTrack)
    for _ in 0..<100 { #expect(track.title == "") }
    #expect(view.reportedErrors.count <= 1)
    let album = try #require(try view.fetch(FetchRequest(ShownAlbum.self)).first)
    album.title = "edited"
    try view.save()
  }

  nonisolated private static let trackCount = 40

  /// A container with an album of many tracks.
  private static func container(
    _ strategy: StrategyKind, _ backend: Backend
  ) throws -> (any PersistentContainer, TemporaryDirectory) {
    let directory = TemporaryDirectory()
    let container = strategy.makeContainer(model: try model(), in: directory)
    try container.attachPersistentStore(for: backend.newConfiguration())
    let background = container.newBackgroundContext()
    try background.performAndWait {
      let album = try ShownAlbum(context: background)
      album.title = "A"
      for number in 0..<trackCount {
        let track = try ShownTrack(context: background)
        track.title = "\(number)"
        album.tracks.append(track)
      }
      try background.save()
    }
    return (container, directory)
  }

  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("ShownAlbum", class: ShownAlbum.self) {
        Attribute("title", .string)
        Relationship("tracks", toMany: "ShownTrack", inverse: "album", ordered: true, deleteRule: .cascade)
      }
      Entity("ShownTrack", class: ShownTrack.self) {
        Attribute("title", .string)
        Relationship("album", toOne: "ShownAlbum", inverse: "tracks")
      }
    }
  }
}

private final class ShownAlbum: ManagedObject {
  static let titleKey = AttributeKey<String>("title")
  static let tracksKey = OrderedToManyKey<ShownTrack>("tracks")

  var title: String {
    get { self[Self.titleKey] }
    set { self[Self.titleKey] = newValue }
  }
  var tracks: OrderedToMany<ShownTrack> { self[Self.tracksKey] }
}

private final class ShownTrack: ManagedObject {
  static let titleKey = AttributeKey<String>("title")

  var title: String {
    get { self[Self.titleKey] }
    set { self[Self.titleKey] = newValue }
  }
}
