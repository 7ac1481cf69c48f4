import CoherenceCore
import Foundation
import Testing

/// Typed requests and typed access to objects of declared classes, with a hierarchy.
@Suite struct DeclaredRequestTests {
  private typealias Track = DeclaredMusic.Track
  private typealias Release = DeclaredMusic.Release
  private typealias Single = DeclaredMusic.Single
  private typealias Maxi = DeclaredMusic.Maxi
  private let context: ManagedObjectContext

  init() throws {
    context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: DeclaredMusic.makeModel()))
    try context.performAndWait {
      let release = try Release(context: context)
      release.name = "Abbey"
      let single = try Single(context: context)
      (single.name, single.chart) = ("Borders", 3)
      let maxi = try Maxi(context: context)
      (maxi.name, maxi.chart, maxi.inches, maxi.cover) = ("Cranes", 5, 12, single)
      for (index, release) in [release, single, maxi].enumerated() {
        let track = try Track(context: context)
        (track.title, track.length, track.release) = ("\(release.name) \(index)", index == 0 ? nil : index, release)
      }
      try context.save()
    }
  }

  private func names<Found: Release>(_ request: FetchRequest<Found>) throws -> [String] {
    try context.performAndWait { try context.fetch(request).map(\.name) }
  }

  @Test func `a request for a superclass finds and orders records of all subclasses`() throws {
    #expect(try names(FetchRequest(Release.self).sort(\.name, .reverse)) == ["Cranes", "Borders", "Abbey"])
    #expect(try names(FetchRequest(Release.self).filter { $0.tracks.any { $0.length > 1 } }) == ["Cranes"])
  }

  @Test func `conditions and orders of a subclass use inherited properties and its own`() throws {
    let singles = FetchRequest(Single.self).filter { $0.chart > 2 && $0.name != "" && $0.tracks.count == 1 }
    #expect(try names(singles.sort(\.chart, .reverse)) == ["Cranes", "Borders"])
    let maxis = FetchRequest(Maxi.self)
      .filter { $0.inches == 12 && $0.chart == 5 && $0.name == "Cranes" && $0.cover.chart == 3 && $0.covers.isEmpty }
    #expect(try names(maxis.sort(\.inches).sort(\.cover.name).sort(\.name)) == ["Cranes"])
  }

  @Test func `predicates and descriptors of Foundation use inherited and own properties`() throws {
    let maxis = try FetchRequest(Maxi.self)
      .filter(#Predicate { $0.inches == 12 && $0.chart == 5 && $0.name == "Cranes" && $0.cover?.name == "Borders" })
      .sort([SortDescriptor(\.inches), SortDescriptor(\.chart), SortDescriptor(\.name)])
    #expect(maxis.sortKeys.map(\.path.description) == ["inches", "chart", "name"])
    #expect(try names(maxis) == ["Cranes"])
    let releases = try FetchRequest(Release.self).filter(#Predicate { $0.tracks.contains { $0.title == "Abbey 0" } })
    #expect(try names(releases) == ["Abbey"])
  }

  @Test func `a fetch refuses a computed property of a subclass`() throws {
    let request = FetchRequest(Single.self).filter { $0.rank == -3 }
    try context.performAndWait {
      let error = #expect(throws: CoherenceError.self) { try context.fetch(request) }
      #expect(error?.code == .invalidPredicate && error?.message.contains("'Single'") == true)
      let single = try #require(try context.fetch(FetchRequest(Single.self)).first)
      #expect(throws: CoherenceError.self) { try single.value(for: \.rank) }
    }
  }

  @Test func `relationships of a class and of its subclass are loaded with the records`() throws {
    let request = FetchRequest(Maxi.self).prefetch(\.tracks.release).prefetch(\.cover.tracks).prefetch(\.covers)
    #expect(request.relationshipsForPrefetching == ["tracks.release", "cover.tracks", "covers"])
    #expect(try names(request) == ["Cranes"])
  }

  @Test func `a batch update of a subclass sets inherited attributes and its own`() throws {
    try context.performAndWait {
      let changed = try context.execute(
        BatchUpdateRequest(Single.self, where: { $0.chart < 5 }) {
          $0.set(\.name, to: "Changed")
          $0.set(\.chart, to: 7)
        })
      #expect(changed.count == 1)
      let single = try context.fetch(FetchRequest(Single.self).filter { $0.name == "Changed" }).first
      #expect(single?.chart == 7)
      #expect(try context.execute(BatchDeleteRequest(Track.self, where: { $0.length.isNil })).count == 1)
    }
  }

  @Test func `members are filtered by a typed condition`() throws {
    try context.performAndWait {
      let maxi = try #require(try context.fetch(FetchRequest(Maxi.self)).first)
      #expect(try maxi.tracks.filtered { $0.length == 2 }.count == 1)
      #expect(try maxi.tracks.filtered { $0.length != 2 }.isEmpty)
      #expect(try maxi.cover?.covers.filtered { $0.chart == 5 } == [maxi])
    }
  }

  @Test func `members are read, replaced and loaded by keys of the table`() throws {
    try context.performAndWait {
      let release = try #require(try context.fetch(FetchRequest(Release.self).filter { $0.name == "Abbey" }).first)
      try release.load(relationship: \.tracks.release)
      let tracks: [Track] = try release.objects(for: \.tracks)
      #expect(tracks.map(\.title) == ["Abbey 0"])
      let others = try context.fetch(FetchRequest(Track.self).filter { $0.length > 0 }.sort(\.title, .reverse))
      try release.setObjects(others + tracks, for: \.tracks)
      #expect(release.tracks.map(\.title) == ["Cranes 2", "Borders 1", "Abbey 0"])
    }
  }

  @Test func `values are read and written by keys of the table`() throws {
    try context.performAndWait {
      let track = try #require(try context.fetch(FetchRequest(Track.self).sort(\.title)).first)
      #expect(try track.value(for: \.title) == "Abbey 0")
      #expect(try track.value(for: \.length) == nil)
      #expect(track.changedValue(for: \.title) == nil)
      try track.setValue("New", for: \.title)
      #expect(track.changedValue(for: \.title) == "New")
      #expect(try track.committedValue(for: \.title) == "Abbey 0")
      #expect(try track.object(for: \.release)?.name == "Abbey")
      try track.setObject(nil, for: \.release)
      #expect(track.release == nil)
      let maxi = try #require(try context.fetch(FetchRequest(Maxi.self)).first)
      try maxi.setValue(7, for: \.inches)
      try maxi.setValue("Dunes", for: \.name)
      #expect(try maxi.value(for: \.inches) == 7 && maxi.name == "Dunes")
      #expect(maxi.changedValue(for: \.inches) == 7 && maxi.changedValue(for: \.chart) == nil)
      #expect(try maxi.committedValue(for: \.inches) == 12 && maxi.object(for: \.cover)?.name == "Borders")
      try maxi.setObject(nil, for: \.cover)
      #expect(maxi.cover == nil)
    }
  }

  @Test func `an inserted object has no committed value of an optional attribute, and a saved nil is a value`() throws {
    try context.performAndWait {
      let saved = try #require(try context.fetch(FetchRequest(Track.self).sort(\.title)).first)
      let inserted = try Track(context: context)
      inserted.length = 7
      let ofInserted: Int?? = try inserted.committedValue(for: \.length)
      #expect(ofInserted == nil)
      saved.length = 7
      let ofSaved: Int?? = try saved.committedValue(for: \.length)
      #expect(ofSaved == .some(nil))
      #expect(try Maxi(context: context).committedValue(for: \.inches) == nil)
    }
  }
}
