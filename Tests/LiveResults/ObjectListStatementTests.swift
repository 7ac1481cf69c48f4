import CoherenceCore
import Foundation
import TestSupport
import Testing

/// The statements of lists that load their objects by pages.
@Suite struct ObjectListStatementTests {
  private final class Track: ManagedObject {
    static let titleKey = AttributeKey<String>("title")
    static let numberKey = AttributeKey<Int>("number")
    var title: String { self[Self.titleKey] }
    var number: Int { self[Self.numberKey] }
  }

  private static let model = try! ManagedObjectModel {
    Entity("Track", class: Track.self) {
      Attribute("title", .string)
      Attribute("number", .int64)
    }
  }

  private static let count = 5_000
  private static var tracks: FetchRequest<Track> { FetchRequest<Track>().sort("number") }

  /// Runs a block with a store of tracks.
  private func filled(
    _ backend: Backend, _ options: [String: OptionValue] = [:],
    _ body: (ManagedObjectContext, MessageLog) throws -> Void
  ) throws {
    let stack = try LoggedStore(backend, Self.model, options: options)
    defer { stack.close() }
    stack.coordinator.rowCachePolicy = .off
    try stack.write { writer in
      for number in 0..<Self.count {
        let track = try Track(context: writer)
        try track.setValue("track \(number)", for: "title")
        try track.setValue(number, for: "number")
      }
    }
    stack.log.removeAll()
    try body(stack.context(), stack.log)
  }

  @Test(arguments: Backend.availableSQL)
  func `a list reads the keys alone, and each page that is used with one statement`(backend: Backend) throws {
    try filled(backend) { context, log in
      try context.performAndWait {
        let list = try context.list(Self.tracks, batchSize: 100)
        #expect(list.count == Self.count)
        #expect(log.reads.count == 1)
        #expect(log.reads.allSatisfy { !$0.contains("title") }, "\(log.reads)")
        #expect(list[3_070].number == 3_070)
        #expect(log.reads.count == 2)
        #expect(list[3_000].number == 3_000 && list[3_099].title == "track 3099")
        #expect(log.reads.count == 2)
        #expect(list[0].number == 0 && list[4_999].number == 4_999)
        #expect(log.reads.count == 4)
        #expect(context.registeredObjects.count == 300)
      }
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `a page of a list without a batch size has 256 records`(backend: Backend) throws {
    try filled(backend) { context, log in
      try context.performAndWait {
        let list = try context.list(Self.tracks)
        #expect(list[256].number == 256)
        log.removeAll()
        #expect(list[511].number == 511)
        #expect(log.reads.isEmpty, "\(log.reads)")
        #expect(list[255].number == 255)
        #expect(log.reads.count == 1, "\(log.reads)")
      }
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `a walk over a list retains the objects of a few pages, and reads up to four pages at once`(backend: Backend)
    throws
  {
    try filled(backend) { context, log in
      try context.performAndWait {
        for isReversed in [false, true] {
          let list = try context.list(Self.tracks, batchSize: 100)
          log.removeAll()
          var (sum, most) = (0, 0)
          for index in isReversed ? Array(list.indices.reversed()) : Array(list.indices) {
            sum += list[index].number
            if index.isMultiple(of: 100) { most = max(most, context.registeredObjects.count) }
          }
          #expect(sum == Self.count * (Self.count - 1) / 2)
          #expect(most <= 900, "\(most) objects")
          #expect(log.reads.count == 15, "\(log.reads.count) statements")
        }
      }
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `an object that the program retains is found without a statement`(backend: Backend) throws {
    try filled(backend) { context, log in
      try context.performAndWait {
        let list = try context.list(Self.tracks, batchSize: 50)
        let retained = [list[10], list[20]]
        for page in stride(from: 100, to: Self.count, by: 250) { #expect(list[page].number == page) }
        log.removeAll()
        #expect(list[10] === retained[0] && list[20] === retained[1])
        #expect(log.reads.isEmpty, "\(log.reads)")
        #expect(list[11].number == 11)
        #expect(log.reads.count == 1, "\(log.reads)")
      }
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `deleted elements of a page cost no statement after the read of the page`(backend: Backend) throws {
    try filled(backend) { context, log in
      let list = try context.performAndWait { try context.list(Self.tracks, batchSize: 50) }
      let writer = ManagedObjectContext(coordinator: try #require(context.persistentStoreCoordinator))
      try writer.performAndWait {
        for track in try writer.fetch(Self.tracks.limit(20)) { writer.delete(track) }
        try writer.save()
      }
      log.removeAll()
      context.performAndWait {
        #expect(list.prefix(50).count { $0.isDeleted } == 20)
        #expect(list.prefix(50).count { $0.title.isEmpty } == 20)
        #expect(log.reads.count == 1, "\(log.reads)")
      }
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `a fetch of faults of one entity reads the keys alone`(backend: Backend) throws {
    try filled(backend) { context, log in
      try context.performAndWait {
        var request = Self.tracks
        request.returnsObjectsAsFaults = true
        let tracks = try context.fetch(request)
        #expect(tracks.count == Self.count)
        #expect(!tracks.contains { !$0.isFault })
        #expect(log.reads.count == 1)
        #expect(log.reads.allSatisfy { !$0.contains("title") }, "\(log.reads)")
        #expect(tracks[700].number == 700 && tracks[600].number == 600)
        #expect(log.reads.count == 2, "\(log.reads.count) statements")
      }
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `a fetch of faults renews the values of objects in use`(backend: Backend) throws {
    try filled(backend) { context, log in
      try context.performAndWait {
        let known = try context.fetch(Self.tracks.limit(2))
        #expect(known.map(\.number) == [0, 1])
        let writer = ManagedObjectContext(coordinator: try #require(context.persistentStoreCoordinator))
        try writer.performAndWait {
          let track = try #require(try writer.fetch(Self.tracks.limit(1)).first)
          try track.setValue("renamed", for: "title")
          try writer.save()
        }
        var request = Self.tracks
        request.returnsObjectsAsFaults = true
        try context.withSnapshot { _ = try context.fetch(Self.tracks.limit(2)) }
        let tracks = try context.fetch(request)
        #expect(tracks[0] === known[0] && known[0].title == "renamed")
      }
    }
  }

  @Test func `a list is walked with two connections, while another context saves`() throws {
    guard Backend.availableSQL.contains(.postgreSQL) else { return }
    try filled(.postgreSQL, ["poolSize": 2]) { context, log in
      let writer = ManagedObjectContext(coordinator: try #require(context.persistentStoreCoordinator))
      try context.performAndWait {
        let list = try context.list(Self.tracks, batchSize: 100)
        for (index, track) in list.enumerated() {
          #expect(track.number == index)
          guard index.isMultiple(of: 1_000) else { continue }
          try writer.performAndWait {
            let id = list.objectID(at: index)
            try writer.existingObject(with: id).setValue("renamed", for: "title")
            try writer.save()
          }
        }
      }
    }
  }
}
