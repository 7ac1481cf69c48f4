import CoherenceCore

extension ConformanceSubject {
  static let liveResults = ConformanceSubject("Live results") {
    followed
  }

  @CasesBuilder private static var followed: [Case] {
    Case("a live result shows the saves of other contexts as a fetch does") { stack in
      let context = stack.context()
      let list = try FollowedList(
        FetchRequest(entityName: "Album").filter(compare("year", .greater, 1990)).sort("title"), in: context)
      try stack.write { other in
        for (title, year) in [("C", 1991), ("A", 1992), ("B", 1980), ("D", 1999)] {
          try other.make("Album", ["title": title, "year": year])
        }
      }
      try list.expectTitles(["A", "C", "D"])
      try stack.write { try $0.one("Album", where: equal("title", "B")).setValue(2000, for: "year") }
      try list.expectTitles(["A", "B", "C", "D"])
      try stack.write { try $0.one("Album", where: equal("title", "A")).setValue("Z", for: "title") }
      try list.expectTitles(["B", "C", "D", "Z"])
      try stack.write { $0.delete(try $0.one("Album", where: equal("title", "C"))) }
      try list.expectTitles(["B", "D", "Z"])
    }
    Case("a live result shows batch requests as a fetch does") { stack in
      try stack.write { context in
        for number in 0..<6 { try context.make("Album", ["title": "\(number)", "year": number]) }
      }
      let list = try FollowedList(
        FetchRequest(entityName: "Album").filter(compare("year", .less, 4)).sort("title"), in: stack.context())
      try list.expectTitles(["0", "1", "2", "3"])
      try stack.write { context in
        try context.execute(
          BatchUpdateRequest(entityName: "Album", predicate: equal("title", "5"), values: ["year": 1]))
      }
      try list.expectTitles(["0", "1", "2", "3", "5"])
      try stack.write { context in
        try context.execute(BatchDeleteRequest(entityName: "Album", predicate: compare("year", .less, 2)))
      }
      try list.expectTitles(["2", "3"])
    }
    Case("a live result shows the records of batch requests whose outcome is unknown") { stack in
      let interposition = try stack.interpose()
      let list = try FollowedList(FetchRequest(entityName: "Album").sort("title"), in: stack.context())
      try list.expectTitles([])
      interposition.afterSave { _ in
        throw CoherenceError(.connectionLost, "The connection broke.", outcome: .unknown)
      }
      func expectLost(_ body: (ManagedObjectContext) throws -> Void) throws {
        try stack.read { context in try expectThrows(.connectionLost) { try body(context) } }
      }
      try expectLost { context in
        let row: [String: AttributeValue] = ["title": .string("A")]
        try context.execute(BatchInsertRequest(entityName: "Album", rows: [row]))
      }
      try list.expectTitles(["A"])
      try expectLost { try $0.execute(BatchUpdateRequest(entityName: "Album", values: ["title": "B"])) }
      try list.expectTitles(["B"])
      try expectLost { try $0.execute(BatchDeleteRequest(entityName: "Album")) }
      try list.expectTitles([])
    }
    Case("a live result with a limit is refilled from the store") { stack in
      try stack.write { context in
        for number in 100..<180 { try context.make("Album", ["title": "\(number)"]) }
      }
      let list = try FollowedList(
        FetchRequest(entityName: "Album").sort("title").limit(3, offset: 1), in: stack.context())
      try list.expectTitles(["101", "102", "103"])
      for round in 0..<3 {
        try stack.write { context in
          for album in try context.fetch(FetchRequest(entityName: "Album").sort("title").limit(25)) {
            context.delete(album)
          }
        }
        let first = 100 + 25 * (round + 1)
        try list.expectTitles((first + 1..<min(first + 4, 180)).map { "\($0)" })
      }
    }
    Case("a live result over a relationship shows changes of the related record") { stack in
      try stack.write { context in
        for name in ["X", "Y"] {
          let artist = try context.make("Artist", ["name": name])
          for number in 1...2 {
            try context.make("Album", ["title": "\(name)\(number)"]).setObject(artist, for: "artist")
          }
        }
      }
      let context = stack.context()
      let list = try FollowedList(
        FetchRequest(entityName: "Album").filter(compare("artist.name", .less, "Z")).sort("artist.name").sort("title"),
        in: context)
      try list.expectTitles(["X1", "X2", "Y1", "Y2"])
      try stack.write { try $0.one("Artist", where: equal("name", "X")).setValue("YY", for: "name") }
      try list.expectTitles(["Y1", "Y2", "X1", "X2"])
      try stack.write { try $0.one("Artist", where: equal("name", "Y")).setValue("Z", for: "name") }
      try list.expectTitles(["X1", "X2"])
    }
    Case("a live result over a relationship without an inverse shows the delete of the related record") { stack in
      try stack.write { context in
        for name in ["X", "Y"] {
          let track = try context.make("Track", ["title": name])
          try context.make("Playlist", ["name": "list of \(name)"]).setObject(track, for: "pinned")
        }
      }
      let list = try FollowedList(
        FetchRequest(entityName: "Playlist").filter(compare("pinned.title", .less, "Z")).sort("name"),
        in: stack.context())
      try list.expectTitles(["list of X", "list of Y"])
      try stack.write { $0.delete(try $0.one("Track", where: equal("title", "X"))) }
      try list.expectTitles(["list of Y"])
    }
    Case("the states of a live result throw the cancellation of a store in a task that is not cancelled") { stack in
      let interposition = try stack.interpose()
      let context = stack.context()
      interposition.beforeFetch { throw CancellationError() }
      var states = try context.values(of: FetchRequest<ManagedObject>(entityName: "Album")).makeAsyncIterator()
      var isThrown = false
      do {
        _ = try await states.next()
      } catch is CancellationError {
        isThrown = true
      }
      interposition.beforeFetch(nil)
      try expect(isThrown, "the error of the store")
      let next = try await states.next()
      try expect(next == nil, "the end after the error")
      withExtendedLifetime(context) {}
    }
  }
}

/// A controller, and the list that its changes keep.
final class FollowedList: FetchedResultsControllerDelegate {
  private let context: ManagedObjectContext
  private let controller: FetchedResultsController<ManagedObject>
  private var ids: [ManagedObjectID]

  init(_ request: FetchRequest<ManagedObject>, in context: ManagedObjectContext) throws {
    self.context = context
    controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
    ids = try context.performAndWait { [controller] in
      try controller.performFetch()
      return controller.snapshot?.ids ?? []
    }
    controller.delegate = self
  }

  func controller(
    _ controller: FetchedResultsController<ManagedObject>, didChange changes: ResultChanges<ManagedObject>
  ) {
    changes.apply(to: &ids)
  }

  /// Expects the titles of the controller, of the list that its changes keep, and of a fresh fetch.
  func expectTitles(_ titles: [String], file: StaticString = #fileID, line: UInt = #line) throws {
    try context.performAndWait {
      func labels(_ ids: [ManagedObjectID]) throws -> [String] { try context.objects(for: ids).map { try $0.label } }
      try expectEqual(try labels(controller.snapshot?.ids ?? []), titles, file: file, line: line)
      try expectEqual(ids, controller.snapshot?.ids ?? [], file: file, line: line)
      try expectEqual(try context.fetchIDs(controller.fetchRequest), ids, file: file, line: line)
    }
  }
}
