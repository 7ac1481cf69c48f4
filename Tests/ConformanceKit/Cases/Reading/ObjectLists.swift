import CoherenceCore
import Foundation

extension ConformanceSubject {
  /// Lists that hold identifiers and load their objects by pages.
  static let objectLists = ConformanceSubject("Lists of objects") {
    listedContents
    listedChanges
    listedContexts
    listedRefusals
  }

  /// Inserts tracks whose lengths are their numbers.
  private static func fill(_ stack: ConformanceStack, _ count: Int) throws {
    try stack.write { context in
      for number in 0..<count { try context.make("Track", ["title": "track \(number)", "length": number]) }
    }
  }

  private static var tracks: FetchRequest<Track> { FetchRequest<Track>().sort("length") }

  private static func length(_ track: Track) -> Int { Int(track[Track.lengthKey]) }

  @CasesBuilder private static var listedContents: [Case] {
    Case("a list has the objects of a fetch, in its order and range") { stack in
      try fill(stack, 100)
      try stack.read { context in
        for request in [
          tracks, tracks.limit(30, offset: 25), tracks.limit(0), FetchRequest<Track>().sort("title", .reverse),
          FetchRequest<Track>().filter(compare("length", .greater, 60)),
          FetchRequest<Track>().filter(compare("title", .matches, "track 1.*")).sort("length", .reverse),
        ] {
          let fetched = try context.fetch(request)
          let list = try context.list(request, batchSize: 7)
          try expect(zip(list, fetched).allSatisfy { $0 === $1 }, "the objects of the context")
          try expectEqual(list.map(\.objectID), fetched.map(\.objectID))
          try expectEqual(list.count, fetched.count)
        }
      }
    }
    Case("a list is walked backwards, and in any order") { stack in
      try fill(stack, 100)
      try stack.read { context in
        let list = try context.list(tracks, batchSize: 8)
        try expectEqual(list.reversed().map(length), (0..<100).reversed())
        for index in [70, 3, 99, 0, 50, 51, 49, 98] { try expectEqual(length(list[index]), index) }
        try expectEqual(list[40..<60].map(length), Array(40..<60))
        try expectEqual(try list.objects(in: 90..<100).map(length), Array(90..<100))
        try expectEqual(try list.objects(in: 5..<5).count, 0)
        let ids = try context.fetchIDs(tracks)
        try expectEqual(list.indices.map { list.objectID(at: $0) }, ids)
        try expectEqual(ids.map { list.index(of: $0) }, Array(0..<100))
      }
    }
    Case("a list of a hierarchy has objects of each entity") { stack in
      try stack.write { context in
        for (entity, name) in [("Artist", "b"), ("Legend", "a"), ("Band", "d"), ("Artist", "c")] {
          try context.make(entity, ["name": name])
        }
      }
      try stack.read { context in
        let list = try context.list(FetchRequest<Performer>().sort("name"), batchSize: 2)
        try expectEqual(list.map { "\($0.entity.name) \($0.name)" }, ["Legend a", "Artist b", "Artist c", "Band d"])
        let artists = try context.list(FetchRequest<Artist>().sort("name", .reverse), batchSize: 2)
        try expectEqual(artists.map(\.name), ["c", "b", "a"])
      }
    }
    Case("a list over several stores is in the order of a fetch") { stack in
      let coordinator = stack.makeCoordinator()
      let stores = try [false, true].map { companion in
        try stack.attach(try stack.makeLocation(companion: companion), to: coordinator)
      }
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        for number in 0..<40 {
          let track = try context.make("Track", ["title": "track \(number)", "length": number])
          try context.assign(track, to: stores[number % 2])
        }
        try context.make("Track", ["title": "unsaved", "length": 15])
        let before = try context.list(tracks, batchSize: 6)
        try expectEqual(before.count, 41)
        try context.save()
        context.reset()
        let list = try context.list(tracks, batchSize: 6)
        try expectEqual(list.map(length), [Int](0...15) + [Int](15..<40))
        try expectEqual(list.map(\.objectID), try context.fetch(tracks).map(\.objectID))
        try expectEqual(before.map { length($0) }.sorted(), list.map(length).sorted())
      }
    }
  }

  @CasesBuilder private static var listedChanges: [Case] {
    Case("a list has the unsaved records of the context, also after their save") { stack in
      try fill(stack, 20)
      try stack.read { context in
        try context.make("Track", ["title": "new", "length": 5])
        context.delete(try context.one("Track", where: equal("length", 7)))
        try context.one("Track", where: equal("length", 3)).setValue(50, for: "length")
        let expected = [0, 1, 2, 4, 5, 5, 6] + [Int](8..<20) + [50]
        let list = try context.list(tracks, batchSize: 4)
        try expectEqual(list.map(length), expected)
        let new = list[5]
        try expectEqual(try new.label, "new")
        try context.save()
        try expectEqual(list.map(length), expected)
        try expect(list[5] === new && !list.objectID(at: 5).isTemporaryID, "the saved object")
        try expectEqual(list.index(of: new.objectID), 5)
        context.reset()
        try expectEqual(list.map(length), expected, "the lengths after a reset")
      }
    }
    Case("edits, inserts and deletes after the fetch do not move the elements of a list") { stack in
      try fill(stack, 20)
      try stack.read { context in
        let list = try context.list(tracks, batchSize: 4)
        list[2][Track.lengthKey] = 100
        try context.make("Track", ["title": "new", "length": 5])
        context.delete(list[9])
        try expectEqual(list.count, 20)
        try expectEqual(length(list[2]), 100)
        try expect(list[9].isDeleted && !list[10].isDeleted, "the deleted element")
        try context.save()
        try expect(list[9].isDeleted, "the deleted element after the save")
        try expectEqual(list.enumerated().count { $1.isDeleted }, 1)
      }
    }
    Case("an element that another context deleted is a deleted object, whose accessors report the vanished record") {
      stack in
      try fill(stack, 20)
      let context = stack.context()
      let list = try context.performAndWait { try context.list(tracks, batchSize: 4) }
      try context.performAndWait { try expectEqual(length(list[0]), 0) }
      try stack.write { context in
        for number in [9, 10, 11, 19] { context.delete(try context.one("Track", where: equal("length", number))) }
      }
      try context.performAndWait {
        try expectEqual(list.count, 20)
        try expectEqual(list.indices.filter { list[$0].isDeleted }, [9, 10, 11, 19])
        try expect(context.reportedErrors.isEmpty, "no report of the walk")
        try expectEqual(length(list[10]), 0, "the default")
        let codes = context.reportedErrors.map { ($0 as? CoherenceError)?.code }
        try expectEqual(codes, [.recordVanished])
        try expectEqual(try list.objects(in: 8..<13).map(\.isDeleted), [false, true, true, true, false])
      }
    }
    Case("elements of a list are deleted by another context during a walk") { stack in
      try fill(stack, 200)
      let context = stack.context()
      let list = try context.performAndWait { try context.list(tracks, batchSize: 5) }
      var deleted = 0
      for index in list.indices {
        if index.isMultiple(of: 20), index + 10 < 200 {
          try stack.write { context in
            context.delete(try context.one("Track", where: equal("length", index + 10)))
          }
        }
        try context.performAndWait {
          if list[index].isDeleted { deleted += 1 } else { try expectEqual(length(list[index]), index) }
        }
      }
      // A page that was read before the delete still shows its records, because the context follows no other.
      try expect(deleted > 0 && deleted <= 10, "some deleted elements, found \(deleted)")
    }
    Case("a rollback keeps the number of elements of a list, and its saved elements") { stack in
      try fill(stack, 10)
      try stack.read { context in
        let new = try context.make("Track", ["title": "new", "length": 5])
        let list = try context.list(tracks, batchSize: 4)
        list[0][Track.lengthKey] = 70
        context.rollback()
        try expectEqual(list.count, 11)
        try expectEqual(list.filter { $0 !== new }.map(length), Array(0..<10))
        try expect(list[6] === new && list[6].managedObjectContext == nil, "the dropped object")
      }
    }
    Case("a reset during a walk makes a list load its objects again") { stack in
      try fill(stack, 30)
      try stack.read { context in
        let new = try context.make("Track", ["title": "new", "length": 100])
        let list = try context.list(tracks, batchSize: 4)
        let first = list[0]
        var walked: [Int] = []
        for (index, track) in list.enumerated() where track !== new {
          walked.append(length(track))
          if index == 13 { context.reset() }
        }
        try expectEqual(walked, Array(0..<30))
        try expect(first.managedObjectContext == nil && list[0] !== first, "a new object")
        try expectEqual(length(list[30]), 0, "the default")
        let codes = context.reportedErrors.map { ($0 as? CoherenceError)?.code }
        try expectEqual(codes, [.objectDeleted])
      }
    }
    Case("a list without its store has unavailable objects, and the context reports the detachment") { stack in
      try fill(stack, 10)
      let context = stack.context()
      let list = try context.performAndWait { try context.list(tracks, batchSize: 4) }
      let store = try stack.store
      try stack.attach(try stack.makeLocation(companion: true), to: stack.coordinator)
      try stack.coordinator.remove(store)
      try context.performAndWait {
        try expect(list[3].isUnavailable && !list[3].isDeleted, "an unavailable object")
        try expectEqual(length(list[3]), 0, "the default")
        let codes = Set(context.reportedErrors.map { ($0 as? CoherenceError)?.code })
        try expectEqual(codes, [.storeDetached])
        try expectThrows(.storeDetached) { try list.objects(in: 0..<10) }
      }
    }
  }

  @CasesBuilder private static var listedContexts: [Case] {
    Case("a list of a child context has the unsaved records of its parents, also after their save") { stack in
      try fill(stack, 10)
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        try parent.make("Track", ["title": "parent", "length": 4])
        try parent.one("Track", where: equal("length", 2)).setValue(20, for: "length")
        parent.delete(try parent.one("Track", where: equal("length", 6)))
        try parent.processPendingChanges()
      }
      let list = try child.performAndWait {
        try child.make("Track", ["title": "child", "length": 8])
        return try child.list(tracks, batchSize: 3)
      }
      let expected = [0, 1, 3, 4, 4, 5, 7, 8, 8, 9, 20]
      try child.performAndWait {
        try expectEqual(list.map(length), expected)
        try child.save()
        try expectEqual(list.map(length), expected)
      }
      try parent.performAndWait { try parent.save() }
      try child.performAndWait {
        try expectEqual(list.map(length), expected)
        try expect(list.indices.allSatisfy { !list.objectID(at: $0).isTemporaryID }, "permanent identifiers")
        child.reset()
        try expectEqual(list.map(length), expected, "the lengths after a reset")
      }
    }
    Case("the relationships to prefetch are loaded with each page of a list") { stack in
      try stack.write { context in
        for number in 0..<12 {
          let album = try context.make("Album", ["title": "album \(number)"])
          try context.make("Track", ["title": "track", "length": number]).setObject(album, for: "album")
        }
      }
      try stack.read { context in
        var request = tracks
        request.relationshipsForPrefetching = ["album"]
        let list = try context.list(request, batchSize: 5)
        let titles = try list.map { try unwrap(try $0.object(for: "album")).label }
        try expectEqual(titles, (0..<12).map { "album \($0)" })
      }
    }
    Case("a list of a main-queue context is read on the main actor") { stack in
      try fill(stack, 30)
      try await listedOnMain(stack)
    }
  }

  @MainActor private static func listedOnMain(_ stack: ConformanceStack) async throws {
    let context = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: stack.coordinator)
    let list = try context.list(tracks.batchSize(4))
    try expectEqual(list.batchSize, 4)
    try expectEqual(list.map(length), Array(0..<30))
    try stack.write { $0.delete(try $0.one("Track", where: equal("length", 29))) }
    // A turn of the main queue reads one state of the store, which the next turn leaves.
    await Task.yield()
    context.refreshAll()
    try expect(list[29].isDeleted, "the deleted element")
  }

  @CasesBuilder private static var listedRefusals: [Case] {
    Case("a batch size below one is refused") { stack in
      try stack.read { context in
        for size in [0, -1, Int.min] {
          try expectThrows(.invalidFetchRequest) { try context.list(tracks, batchSize: size) }
        }
        try expectThrows(.invalidFetchRequest) { try context.list(tracks.batchSize(-1)) }
        try expectThrows(.invalidFetchRequest) { try context.fetch(tracks.batchSize(-1)) }
        try expectThrows(.unknownProperty) { try context.list(FetchRequest<Track>().sort("unknown")) }
      }
    }
    Case("a list of no records, and a list with the greatest batch size, are read") { stack in
      try stack.read { try expectEqual(try $0.list(tracks).map(length), []) }
      try fill(stack, 10)
      try stack.read { try expectEqual(try $0.list(tracks, batchSize: .max).map(length), Array(0..<10)) }
    }
  }
}
