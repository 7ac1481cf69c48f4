import TestRandom
import Testing

@testable import CoherenceCore

/// Deletes in a loop that reads relationships: the delete rules wait until a read needs them.
@Suite("Deletes whose rules are not applied yet")
struct PendingDeletesTests {
  private let context: ManagedObjectContext
  private static let albumCount = 100

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Album") { Relationship("tracks", toMany: "Track", inverse: "album") }
      Entity("Track") { Relationship("album", toOne: "Album", inverse: "tracks") }
    }
    context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
  }

  /// Saves albums of three tracks, and returns them with loaded tracks.
  private func makeAlbums() throws -> [ManagedObject] {
    for _ in 0..<Self.albumCount {
      let album = try context.insertNewObject(forEntityName: "Album")
      for _ in 0..<3 { try context.insertNewObject(forEntityName: "Track").setObject(album, for: "album") }
    }
    try context.save()
    let albums = try context.fetch(FetchRequest<ManagedObject>(entityName: "Album"))
    for album in albums { #expect(try album.objects(for: "tracks").count == 3) }
    return albums
  }

  @Test func `the deletes of a track of each album wait together, and leave the lists of all albums`() throws {
    try context.performAndWait {
      let albums = try makeAlbums()
      for (index, album) in albums.enumerated() {
        let tracks = try album.objects(for: "tracks")
        #expect(tracks.count == 3)
        context.delete(tracks[0])
        #expect(context.storage.pendingRules.objects.count == index + 1)
      }
      for album in albums { #expect(try album.objects(for: "tracks").count == 2) }
      #expect(context.storage.pendingRules.objects.isEmpty)
      try context.save()
      #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Track")) == 2 * Self.albumCount)
    }
  }

  @Test func `a deleted member of a list shorter than the deletes leaves the list, and so does an added one`() throws {
    try context.performAndWait {
      let albums = try makeAlbums()
      let last = try #require(albums.last)
      let (kept, moved) = (try last.objects(for: "tracks"), try albums[0].objects(for: "tracks")[0])
      try moved.setObject(last, for: "album")
      for album in albums.dropFirst().dropLast() { context.delete(try album.objects(for: "tracks")[0]) }
      #expect(try last.objects(for: "tracks").count == 4)
      for album in albums.dropFirst().dropLast() { context.delete(try album.objects(for: "tracks")[0]) }
      context.delete(moved)
      #expect(try last.objects(for: "tracks") == kept)
      for album in albums.dropFirst().dropLast() { #expect(try album.objects(for: "tracks").count == 1) }
      context.delete(kept[1])
      #expect(try last.objects(for: "tracks") == [kept[0], kept[2]])
    }
  }

  @Test func `only the hierarchies of waiting deletes have one`() throws {
    try context.performAndWait {
      let albums = try makeAlbums()
      let (album, track) = (albums[0], try albums[1].objects(for: "tracks")[0])
      var deletes = PendingDeletes()
      #expect(!deletes.hasObject(of: album.entity))
      deletes.append(album)
      deletes.append(track)
      deletes.remove(album)
      #expect(!deletes.hasObject(of: album.entity) && deletes.hasObject(of: track.entity))
      let taken = deletes.takeAll()
      #expect(deletes.isEmpty && !deletes.hasObject(of: track.entity))
      deletes.append(album)
      deletes.putBack(taken)
      #expect(deletes.objects == [track, album])
      #expect(deletes.hasObject(of: album.entity) && deletes.hasObject(of: track.entity))
    }
  }

  @Test func `deletes reverted in any order leave the other deletes in their order`() throws {
    try context.performAndWait {
      let objects = try (0..<200).map { _ in try context.insertNewObject(forEntityName: "Track") }
      var random = SeededRandom(seed: 7)
      var deletes = PendingDeletes()
      var expected: [ManagedObject] = []
      for step in 0..<4_000 {
        let object = objects.randomElement(using: &random)!
        if let index = expected.firstIndex(of: object) {
          deletes.remove(object)
          expected.remove(at: index)
        } else if step % 600 < 300 {
          deletes.append(object)
          expected.append(object)
        } else {
          deletes.remove(object)
        }
        if step % 1_000 == 999 {
          let taken = deletes.take { $0 === expected.first }
          #expect(taken == [ManagedObject](expected.prefix(1)))
          deletes.putBack(taken)
        }
        #expect(deletes.count == expected.count && deletes.isEmpty == expected.isEmpty)
        #expect(deletes.hasObject(of: object.entity) == !expected.isEmpty)
        let newest = deletes.latest(3).compactMap { $0 }
        #expect(newest.last === expected.last && newest == [ManagedObject](expected.suffix(newest.count)))
        if step % 50 == 0 { #expect(deletes.objects == expected) }
      }
      #expect(deletes.takeAll() == expected)
    }
  }
}
