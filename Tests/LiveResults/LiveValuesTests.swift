import CoherenceCore
import CoherenceStrategies
import Testing
import TestSupport

/// The streams of results and of their changes.
@MainActor
@Suite("Streams of live results", .timeLimit(.minutes(15)))
struct LiveValuesTests {
  private typealias Change = ResultChanges<ManagedObject>.Change

  @Test(arguments: LiveStrategy.allCases, Backend.available)
  func `a save of a background context reaches the values of the view`(
    strategy: LiveStrategy, backend: Backend
  ) async throws {
    let stack = try LiveLibrary.Stack(strategy, on: backend)
    var values = try stack.view.values(of: LiveLibrary.tracks.sort("title")).makeAsyncIterator()
    #expect(try await values.next()?.isEmpty == true)
    let ids = try stack.add("b", "a")
    let list = try #require(try await values.next())
    #expect(list.ids == [ids["a"], ids["b"]])
    #expect(list.index(of: try #require(ids["b"])) == 1)
    #expect(try list.objects(in: stack.view).map { try $0.value(for: "title") } == [.string("a"), .string("b")])
  }

  @Test(arguments: Backend.available)
  func `changes have indexes, and lead from the last delivered state to the newest one`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let ids = try stack.add("b", "d", "f")
    let (b, d, f) = try (#require(ids["b"]), #require(ids["d"]), #require(ids["f"]))
    var changes = try stack.view.changes(of: LiveLibrary.tracks.sort("title")).makeAsyncIterator()
    let first = try #require(try await changes.next())
    #expect(first.changes == [.insert(b, at: 0), .insert(d, at: 1), .insert(f, at: 2)] && first.former.isEmpty)
    // Three saves before the next read lead to one difference.
    try stack.write { try $0.objects(for: [b]).first?.setValue("g", for: "title") }
    try stack.write { context in for track in try context.objects(for: [d]) { context.delete(track) } }
    try stack.write { try $0.objects(for: [f]).first?.setValue(3, for: "plays") }
    stack.view.performAndWait {}
    let next = try #require(try await changes.next())
    #expect(next.changes == [.delete(d, at: 1), .update(f, from: 2, to: 0), .move(b, from: 0, to: 1)])
    #expect(next.former == first.current && next.current.ids == [f, b])
    var list = next.former.ids
    next.apply(to: &list)
    #expect(list == [f, b])
  }

  @Test(arguments: Backend.available)
  func `changes that cancel each other out are not delivered`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    var changes = try stack.view.changes(of: LiveLibrary.tracks).makeAsyncIterator()
    #expect(try await changes.next()?.changes.isEmpty == true)
    let fleeting = try stack.add("a")
    try stack.write { context in for track in try context.objects(for: fleeting.values) { context.delete(track) } }
    stack.view.performAndWait {}
    let ids = try stack.add("b")
    #expect(try await changes.next()?.changes == ids.values.map { .insert($0, at: 0) })
  }

  @Test(arguments: Backend.available)
  func `unsaved changes of the context show at the end of the turn, and a save keeps the record in its place`(
    backend: Backend
  ) async throws {
    let stack = try LiveLibrary.Stack(.mixed, on: backend)
    var changes = try stack.view.changes(of: LiveLibrary.tracks.sort("title")).makeAsyncIterator()
    _ = try await changes.next()
    // Without `perform`: the main actor's next turn shows the edit.
    let track = try LiveLibrary.track("a", in: stack.view)
    let temporary = track.objectID
    #expect(try await changes.next()?.changes == [.insert(temporary, at: 0)])
    try track.setValue("b", for: "title")
    #expect(try await changes.next()?.changes == [.update(temporary, from: 0, to: 0)])
    try stack.view.save()
    let saved = try #require(try await changes.next())
    #expect(saved.renamed == [temporary: track.objectID])
    #expect(saved.changes == [.update(track.objectID, from: 0, to: 0)])
    try track.setValue("c", for: "title")
    stack.view.rollback()
    _ = try LiveLibrary.track("z", in: stack.view)
    stack.view.reset()
    #expect(try stack.view.fetchIDs(LiveLibrary.tracks) == [saved.current[0]])
  }

  @Test(arguments: Backend.available)
  func `the temporary identifiers of a state lead to their records after the save`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    var values = try stack.view.values(of: LiveLibrary.tracks).makeAsyncIterator()
    #expect(try await values.next()?.isEmpty == true)
    try stack.view.performAndWait { _ = try LiveLibrary.track("a", in: stack.view) }
    let list = try #require(try await values.next())
    try stack.view.save()
    #expect(list.allSatisfy { $0.isTemporaryID })
    #expect(try list.objects(in: stack.view).map { try $0.value(for: "title") } == [.string("a")])
  }

  @Test(arguments: Backend.available)
  func `an unrelated save evaluates no record, and a related one evaluates the changed records`(
    backend: Backend
  ) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let ids = try stack.write { context in
      try (0..<300).map { try LiveLibrary.track("track \($0)", genre: $0 < 200 ? "a" : "b", length: $0, in: context) }
        .count
    }
    #expect(ids == 300)
    let request = LiveLibrary.tracks.filter(try FetchPredicate(format: "genre == 'a'")).sort("length")
    var values = try stack.view.values(of: request).makeAsyncIterator()
    let list = try #require(try await values.next())
    let others = try stack.view.fetchIDs(LiveLibrary.tracks.filter(try FetchPredicate(format: "genre == 'b'")))
    let view = stack.view
    let before = view.performAndWait { view.liveWork }
    #expect(list.count == 200 && before.evaluatedRows == 200 && before.runs == 1)

    // Other entities, and properties that the request does not read.
    try stack.write { try $0.insertNewObject(forEntityName: "Tag").setValue("x", for: "name") }
    try stack.write { try $0.objects(for: [others[0]]).first?.setValue(8, for: "plays") }
    #expect(view.performAndWait { view.liveWork.evaluatedRows } == 200)
    // A listed record is reported, and not evaluated.
    try stack.write { try $0.objects(for: [list[7]]).first?.setValue(8, for: "plays") }
    #expect(view.performAndWait { view.liveWork.evaluatedRows } == 200)
    #expect(try await values.next()?.ids == list.ids)
    // A property that the request reads.
    try stack.write { context in
      try context.objects(for: [others[1]]).first?.setValue("a", for: "genre")
      try context.objects(for: [list[3]]).first?.setValue(1_000, for: "length")
    }
    let work = view.performAndWait { view.liveWork }
    #expect(work.evaluatedRows == 202 && work.runs == 1)
    let last = try #require(try await values.next())
    #expect(last.count == 201 && last.last == list[3] && last.contains(others[1]))
  }

  @Test(arguments: Backend.available)
  func `a change behind a to-one relationship evaluates the records that lead there`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    try stack.write { context in
      for number in 0..<4 {
        let artist = try context.insertNewObject(forEntityName: "Artist")
        try artist.setValue("artist \(number)", for: "name")
        try artist.setValue(number, for: "rating")
        for part in 0..<5 {
          try LiveLibrary.track("\(number) \(part)", in: context).setObject(artist, for: "artist")
        }
      }
    }
    let view = stack.view
    let request = LiveLibrary.tracks.filter(try FetchPredicate(format: "artist.rating > 1")).sort("artist.name").sort(
      "title")
    var values = try view.values(of: request).makeAsyncIterator()
    #expect(try await values.next()?.count == 10)
    try stack.write { context in
      let named = FetchRequest<ManagedObject>(entityName: "Artist").filter(try FetchPredicate(format: "rating == 0"))
      try context.fetch(named).first?.setValue(9, for: "rating")
    }
    let work = view.performAndWait { view.liveWork }
    #expect(work.runs == 1 && work.evaluatedRows == 15)
    #expect(try await values.next()?.ids == (try view.fetchIDs(request)))
    // The notes of an artist are read by no part of the request.
    try stack.write { context in
      for artist in try context.fetch(FetchRequest<ManagedObject>(entityName: "Artist")) {
        try artist.setValue("n", for: "notes")
      }
    }
    #expect(view.performAndWait { view.liveWork.evaluatedRows } == 15)
  }

  @Test(arguments: Backend.available, [200, 201])
  func `changes of many related records show, by a look-up of up to 200 and by a run of the request beyond`(
    backend: Backend, count: Int
  ) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    try stack.write { context in
      for number in 0..<202 {
        let artist = try context.insertNewObject(forEntityName: "Artist")
        try artist.setValue("artist", for: "name")
        try artist.setValue(number, for: "rating")
        try LiveLibrary.track("\(number)", in: context).setObject(artist, for: "artist")
      }
    }
    let view = stack.view
    let request = LiveLibrary.tracks.filter(try FetchPredicate(format: "artist.rating >= 0")).sort("artist.rating")
    var values = try view.values(of: request).makeAsyncIterator()
    let first = try #require(try await values.next())
    #expect(first.count == 202)
    // The first artist leaves the result, and the others change their order.
    try stack.write { context in
      let changed = FetchRequest<ManagedObject>(entityName: "Artist").sort("rating").limit(count)
      for (index, artist) in try context.fetch(changed).enumerated() {
        let rating = index == 0 ? -1 : 1_000 - index
        try artist.setValue(rating, for: "rating")
      }
    }
    let runs = view.performAndWait { view.liveWork.runs }
    #expect(runs == (count > 200 ? 2 : 1))
    let ids = try #require(try await values.next()).ids
    let expected: [ManagedObjectID] = Array(first.ids[count...]) + Array(first.ids[1..<count].reversed())
    #expect(ids == expected)
    #expect(ids == (try view.fetchIDs(request)))
  }

  @Test(arguments: Backend.available)
  func `deletes refill a limited result from its spare records, and then by a further run`(
    backend: Backend
  ) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    try stack.write { context in
      for number in 0..<200 { try LiveLibrary.track("t", length: number, in: context) }
    }
    let view = stack.view
    let request = LiveLibrary.tracks.sort("length").limit(10, offset: 5)
    var values = try view.values(of: request).makeAsyncIterator()
    var list = try #require(try await values.next())
    for round in 0..<8 {
      try stack.write { context in for track in try context.objects(for: list.ids) { context.delete(track) } }
      list = try #require(try await values.next())
      #expect(list.ids == (try view.fetchIDs(request)), "round \(round)")
      #expect(list.count == 10)
    }
    let runs = view.performAndWait { view.liveWork.runs }
    #expect((2...4).contains(runs))
  }

  @Test(arguments: Backend.available)
  func `the changes of a limited result have the updates of its records alone`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    try stack.write { context in
      for number in 0..<20 { try LiveLibrary.track("t", length: number, in: context) }
    }
    func setGenre(_ genre: String, ofLengths lengths: Set<Int>) throws {
      try stack.write { context in
        for track in try context.fetch(LiveLibrary.tracks)
        where lengths.contains(try track.value(for: "length", as: Int.self)) {
          try track.setValue(genre, for: "genre")
        }
      }
    }
    var changes = try stack.view.changes(of: LiveLibrary.tracks.sort("length").limit(5)).makeAsyncIterator()
    let first = try #require(try await changes.next())
    #expect(first.current.count == 5)
    try setGenre("behind", ofLengths: [7])
    try setGenre("inside", ofLengths: [2, 4, 9])
    let second = try #require(try await changes.next())
    #expect(second.changes == [2, 4].map { .update(second.current.ids[$0], from: $0, to: $0) })
  }

  @Test(arguments: Backend.available)
  func `batch requests show in live results of every context`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    try stack.add("a", "b", "c", genre: "x")
    let request = LiveLibrary.tracks.filter(try FetchPredicate(format: "genre == 'x'"))
    var values = try stack.view.values(of: request).makeAsyncIterator()
    #expect(try await values.next()?.count == 3)
    try stack.write { context in
      try context.execute(
        BatchUpdateRequest(
          entityName: "Track", predicate: try FetchPredicate(format: "title == 'b'"), values: ["genre": "y"]))
    }
    #expect(try await values.next()?.count == 2)
    try stack.write { context in
      try context.execute(
        BatchDeleteRequest(entityName: "Track", predicate: try FetchPredicate(format: "title == 'c'")))
    }
    #expect(try await values.next()?.count == 1)
  }

  @Test(arguments: Backend.available)
  func `the values of one property of an object follow edits, saves of others, and the delete`(
    backend: Backend
  ) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let id = try #require(try stack.add("a")["a"])
    let track = try #require(try stack.view.objects(for: [id]).first)
    var titles = try stack.view.values(of: track, \.titleForTests).makeAsyncIterator()
    #expect(try await titles.next() == "a")
    try track.setValue("b", for: "title")
    #expect(try await titles.next() == "b")
    stack.view.rollback()
    #expect(try await titles.next() == "a")
    try stack.write { try $0.objects(for: [id]).first?.setValue("c", for: "title") }
    #expect(try await titles.next() == "c")
    try stack.write { context in for track in try context.objects(for: [id]) { context.delete(track) } }
    #expect(try await titles.next() == nil)
  }
}

extension ManagedObject {
  fileprivate var titleForTests: String { (try? value(for: "title", as: String.self)) ?? "" }
}
