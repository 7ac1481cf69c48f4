import CoherenceInMemory
import CoherenceModelMacros
import Foundation
import Testing

/// Objects, defaults and snapshots of classes that the macros expand, on the store in memory.
@Suite struct DeclaredObjectTests {
  private let context: ManagedObjectContext

  init() throws {
    let model = try ManagedObjectModel(
      Track.self, Genre.self, Release.self, Single.self, Maxi.self, Compilation.self)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .inMemory)
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  /// Saves a release with a track, and returns both as the store has them.
  private func makeTrack() throws -> (Track, Maxi) {
    let maxi = try Maxi(context: context)
    maxi.name = "Blue"
    let track = try Track(context: context)
    track.isrc = "X1"
    track.release = maxi
    track.tags = ["slow", "long"]
    track.cover = Cover(width: 2, height: nil, origin: Origin(x: 3, y: 4))
    track.length = .seconds(2)
    track.genres.insert(try Genre(context: context))
    track.play("again")
    try context.save()
    context.refreshAll()
    return (track, maxi)
  }

  @Test func `a new object has the literals of the class as values`() throws {
    try context.performAndWait {
      let track = try Track(context: context)
      #expect(track.title == "Untitled")
      #expect(track.stars == 3)
      #expect(track.format == .tape)
      #expect(track.default == -1)
      #expect(track.mastering == Mastering(isLoud: true))
      #expect(track.tags == [])
      #expect(track.length == nil)
      #expect(track.cover == nil)
    }
  }

  @Test func `an initial value other than a literal is evaluated for each new object`() throws {
    let before = Date()
    try context.performAndWait {
      let (first, second) = (try Track(context: context), try Track(context: context))
      #expect(first.token != second.token)
      #expect(first.createdAt >= before.addingTimeInterval(-0.001))
    }
  }

  @Test func `a new object of a subentity has its own defaults and the inherited ones`() throws {
    let before = Date()
    try context.performAndWait {
      let maxi = try Maxi(context: context)
      #expect(maxi.inches == 12)
      #expect(maxi.chart == 7)
      #expect(maxi.since >= before.addingTimeInterval(-0.001))
    }
  }

  @Test func `the accessors of all kinds of properties read the saved values`() throws {
    try context.performAndWait {
      let (track, maxi) = try makeTrack()
      #expect(track.isFault)
      #expect(track.tags == ["slow", "long"])
      #expect(track.cover == Cover(width: 2, height: nil, origin: Origin(x: 3, y: 4)))
      #expect(track.length == .seconds(2))
      #expect(track.release === maxi)
      #expect(track.genres.count == 1)
      #expect(track.plays == 1)
      #expect(track.foldedTitle == "untitled")
      #expect(Array(maxi.tracks) == [track])
    }
  }

  @Test func `a transient variable belongs to the object alone`() throws {
    try context.performAndWait {
      let track = try Track(context: context)
      track.isPlaying = true
      #expect(track.isPlaying)
      #expect(track.changedValues()["isPlaying"] == nil)
      #expect(track.words == ["Untitled"])
      #expect(track.heading == "Untitled (3)")
    }
  }

  @Test func `a save refuses a value that breaks a rule of the class`() throws {
    try context.performAndWait {
      let track = try makeTrack().0
      track.stars = 6
      #expect { try context.save() } throws: { ($0 as? CoherenceError)?.code == .validationFailed }
    }
  }

  @Test func `a save refuses a required relationship without a target`() throws {
    try context.performAndWait {
      try makeTrack().0.release = nil
      #expect { try context.save() } throws: { ($0 as? CoherenceError)?.code == .validationFailed }
    }
  }

  @Test func `requests find own and inherited properties through the table`() throws {
    try context.performAndWait {
      _ = try makeTrack()
      let tracks = FetchRequest(Track.self).filter { $0.release.name == "Blue" && $0.stars > 2 }.sort(\.title)
      #expect(try context.fetch(tracks).map(\.isrc) == ["X1"])
      let maxis = FetchRequest(Maxi.self).filter { $0.inches == 12 && $0.chart == 7 && $0.name == "Blue" }
      #expect(try context.fetch(maxis.sort(\.inches).sort(\.name)).count == 1)
      let found = try FetchRequest(Maxi.self).filter(#Predicate<Maxi> { $0.inches == 12 && $0.name == "Blue" })
      #expect(try context.fetch(found).count == 1)
    }
  }

  @Test func `a snapshot has the values of the object and makes an equal one`() throws {
    try context.performAndWait {
      let (track, maxi) = try makeTrack()
      var snapshot = try track.snapshot()
      #expect(snapshot.title == "Untitled")
      #expect(snapshot.release == maxi.objectID)
      #expect(snapshot.tags == ["slow", "long"])
      #expect(snapshot.cover?.origin.y == 4)
      snapshot.title = "Other"
      try track.apply(snapshot)
      #expect(track.title == "Other")
      let data = try JSONEncoder().encode(snapshot)
      #expect(try JSONDecoder().decode(Track.Snapshot.self, from: data).title == "Other")
    }
  }

  @Test func `a snapshot of a subentity has the inherited values`() throws {
    try context.performAndWait {
      let snapshot = try makeTrack().1.snapshot()
      #expect(snapshot.inches == 12)
      #expect(snapshot.chart == 7)
      #expect(snapshot.name == "Blue")
      #expect(try context.snapshots(of: FetchRequest(Release.self)).map(\.name) == ["Blue"])
    }
  }
}
