import CoherenceCore
import CoherencePostgreSQL
import CoherenceSQLite
import Foundation
import Synchronization
import TestSupport
import Testing

/// The statements of a list of 10,000 members, and of the reports of repeated faults.
@Suite struct MemberStatementTests {
  private final class Album: ManagedObject {
    static let tracksKey = OrderedToManyKey<Track>("tracks")
    static let tagsKey = ToManyKey<Tag>("tags")
    var tracks: OrderedToMany<Track> { self[Self.tracksKey] }
    var tags: ToMany<Tag> { self[Self.tagsKey] }
  }
  private final class Track: ManagedObject {
    static let titleKey = AttributeKey<String>("title")
    static let albumKey = ToOneKey<Album>("album")
    var title: String { self[Self.titleKey] }
    var album: Album? { self[Self.albumKey] }
  }
  private final class Tag: ManagedObject {
    static let nameKey = AttributeKey<String>("name")
    static let albumsKey = ToManyKey<Album>("albums")
    var name: String { self[Self.nameKey] }
    var albums: ToMany<Album> { self[Self.albumsKey] }
  }

  private static let model = try! ManagedObjectModel {
    Entity("Album", class: Album.self) {
      Attribute("title", .string)
      Relationship("tracks", toMany: "Track", inverse: "album", ordered: true)
      Relationship("tags", toMany: "Tag", inverse: "albums")
    }
    Entity("Track", class: Track.self) {
      Attribute("title", .string)
      Attribute("length", .int64)
      Relationship("album", toOne: "Album", inverse: "tracks")
    }
    Entity("Tag", class: Tag.self) {
      Attribute("name", .string)
      Relationship("albums", toMany: "Album", inverse: "tags")
    }
  }

  private final class Reports: Sendable {
    let texts = Mutex<[String]>([])
  }

  private static let memberCount = 10_000

  /// Runs a block with a store. One album has all tracks and a hundred tags, and twenty albums have one track.
  private func filled(
    _ backend: Backend, _ body: (ManagedObjectContext, MessageLog) throws -> Void
  ) throws {
    let stack = try LoggedStore(backend, Self.model)
    defer { stack.close() }
    try stack.write { writer in
      for number in 0...20 {
        let album = try Album(context: writer)
        try album.setValue("album \(number)", for: "title")
        for place in 0..<(number == 0 ? Self.memberCount : 1) {
          let track = try Track(context: writer)
          try track.setValue("track \(place)", for: "title")
          try track.setValue(place * 7_919 % Self.memberCount, for: "length")
          album.tracks.append(track)
        }
      }
      let first = try #require(try writer.fetch(FetchRequest<Album>().limit(1)).first)
      for number in 0..<100 {
        let tag = try Tag(context: writer)
        try tag.setValue("tag \(number)", for: "name")
        first.tags.insert(tag)
      }
    }
    stack.log.removeAll()
    try body(stack.context(), stack.log)
  }

  /// The first album, fetched alone.
  private func first(_ context: ManagedObjectContext) throws -> Album {
    try #require(try context.fetch(FetchRequest<Album>().sort("title").limit(1)).first)
  }

  @Test(arguments: Backend.availableSQL)
  func `each glance at 10,000 members sends one statement and loads the found members alone`(backend: Backend) throws {
    try filled(backend) { context, log in
      try context.performAndWait {
        let album = try first(context)
        let known = try #require(try context.fetch(FetchRequest<Track>().sort("title").limit(1)).first)
        let glances: [(String, Int, () throws -> Int)] = [
          ("count", 10_000, { album.tracks.count }), ("isEmpty", 0, { album.tags.isEmpty ? 1 : 0 }),
          ("contains", 1, { album.tracks.contains(known) ? 1 : 0 }),
          ("first", 1, { album.tracks.first == nil ? 0 : 1 }),
          ("sorted", 10, { try album.tracks.first(10, sortedBy: [SortKey("length", .reverse)]).count }),
          ("page", 10, { try album.tracks.fetch(limit: 10, offset: 5_000).count }),
          ("filtered", 9, { try album.tracks.filtered(longest).count }),
          ("filtered count", 9, { try album.tracks.request.filter(longest).count() }),
          ("tags", 100, { album.tags.count }), ("page of tags", 5, { try album.tags.fetch(limit: 5).count }),
        ]
        for (name, expected, glance) in glances {
          let before = (log.reads.count, context.registeredObjects.count)
          #expect(try glance() == expected, "\(name)")
          #expect(log.reads.count - before.0 == 1, "\(name): \(log.reads.dropFirst(before.0))")
          #expect(context.registeredObjects.count - before.1 <= 10, "\(name)")
        }
      }
    }
  }

  private var longest: FetchPredicate {
    .comparison(.path(PropertyPath("length")), .greater, .value(.int(Int64(Self.memberCount - 10))))
  }

  @Test(arguments: Backend.availableSQL)
  func `a glance with an unsaved member sends one statement`(backend: Backend) throws {
    try filled(backend) { context, log in
      try context.performAndWait {
        let album = try first(context)
        let track = try Track(context: context)
        try track.setValue("new", for: "title")
        try track.setValue(99_999, for: "length")
        album.tracks.append(track)
        try context.processPendingChanges()
        log.removeAll()
        #expect(album.tracks.count == 10_001)
        #expect(try album.tracks.first(2, sortedBy: [SortKey("length", .reverse)]).map(\.title)[0] == "new")
        #expect(try album.tracks.fetch(limit: 2, offset: 9_999).map(\.title) == ["track 9999", "new"])
        #expect(try album.tracks.request.filter(longest).count() == 10)
        #expect(log.reads.count == 4, "\(log.reads)")
      }
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `adding and removing single members costs no statement for their list`(backend: Backend) throws {
    try filled(backend) { context, log in
      try context.performAndWait {
        let album = try first(context)
        let track = try #require(try album.tracks.fetch(limit: 1, offset: 9).first)
        let tag = try #require(album.tags.first)
        log.removeAll()
        album.tracks.remove(track)
        album.tracks.append(track)
        #expect(log.reads.isEmpty, "\(log.reads)")
        album.tags.remove(tag)
        album.tags.insert(tag)
        #expect(log.reads.count == 1, "\(log.reads)")
        #expect(context.registeredObjects.count < 5)
      }
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `a loop that adds a member to each fetched album looks up eight and reads the other lists together`(
    backend: Backend
  ) throws {
    try filled(backend) { context, log in
      try context.performAndWait {
        let albums = try context.fetch(FetchRequest<Album>().sort("title"))
        let tag = try #require(try context.fetch(FetchRequest<Tag>().sort("name").limit(1)).first)
        log.removeAll()
        for album in albums { album.tags.insert(tag) }
        // Eight look-ups, a count, and the lists of all neighbours.
        #expect(log.reads.count == 10, "\(log.reads)")
        #expect(tag.albums.count == 21)
        try context.save()
        log.removeAll()
        for album in albums { album.tags.remove(tag) }
        #expect(log.reads.count <= 10, "\(log.reads)")
        try context.save()
        #expect(tag.albums.isEmpty && albums[0].tags.count == 99)
      }
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `the numbers of members of fetched albums are counted together`(backend: Backend) throws {
    try filled(backend) { context, log in
      try context.performAndWait {
        let albums = try context.fetch(FetchRequest<Album>().sort("title"))
        #expect(albums.map(\.tracks.count) == [10_000] + Array(repeating: 1, count: 20))
        #expect(log.reads.count == 2, "\(log.reads)")
      }
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `the check for repeated faults reports a block that reads albums one by one, with entity and number`(
    backend: Backend
  ) throws {
    try filled(backend) { context, log in
      let ids = try context.performAndWait { try context.fetchIDs(FetchRequest<Album>()) }
      let error = #expect(throws: CoherenceError.self) {
        try expectNoRepeatedFaults {
          try context.performAndWait {
            for id in ids { _ = try #require(context.object(with: id) as? Album).tags.map(\.name) }
          }
        }
      }
      #expect(error?.code == .repeatedFaults)
      #expect(error?.message.contains("21 reads loaded the relationship 'Album.tags' one by one") == true, "\(error!)")
      try expectNoRepeatedFaults {
        try context.performAndWait {
          for album in try context.fetch(FetchRequest<Album>().sort("title")) { _ = album.tags.map(\.name) }
        }
      }
    }
  }

  @Test func `faults of contexts that follow each other in memory are faults of several units`() throws {
    try filled(.sqlite) { context, _ in
      let coordinator = try #require(context.persistentStoreCoordinator)
      let ids = try context.performAndWait { try context.fetchIDs(FetchRequest<Album>()) }
      try expectNoRepeatedFaults {
        for id in ids {
          let single = ManagedObjectContext(coordinator: coordinator)
          try single.performAndWait { _ = try #require(single.object(with: id) as? Album).tags.map(\.name) }
        }
      }
    }
  }

  @Test func `a policy of faults reports each relationship once in a unit of work`() throws {
    try filled(.sqlite) { context, _ in
      let ids = try context.performAndWait { try context.fetchIDs(FetchRequest<Album>()) }
      let reports = Reports()
      context.faultPolicy = .report(after: 5) { repetition in
        reports.texts.withLock {
          $0.append("\(repetition.entityName).\(repetition.relationshipName ?? "") \(repetition.count)")
        }
      }
      for _ in 0..<2 {
        try context.performAndWait {
          for id in ids { _ = try #require(context.object(with: id) as? Album).tags.count }
        }
      }
      #expect(reports.texts.withLock { $0 } == ["Album.tags 6", "Album.tags 6"])
    }
  }
}
