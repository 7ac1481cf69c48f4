import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let recordStreams = ConformanceSubject("Streams") {
    contents
    moments
    ends
    objectBatches
  }

  static let byFallingLength = [SortKey("length", .reverse)]

  /// Saves tracks whose lengths are 0, 1, 2 and so on: more than two batches of every store.
  static func fillStreamed(_ stack: ConformanceStack, count: Int = 2_600) throws {
    try stack.write { context in
      for index in 0..<count { try context.make("Track", ["title": "Track \(index % 7)", "length": index]) }
    }
  }

  static func streamed(_ predicate: FetchPredicate? = nil, sort: [SortKey] = byFallingLength) -> FetchRequest<Track> {
    var request = FetchRequest(Track.self)
    request.predicate = predicate
    request.sortKeys = sort
    return request
  }

  /// Whether the store returns records in order, so that a stream reads them in batches. Otherwise the context reads all
  /// records first, and then asks the store for nothing more.
  private static func streamsInBatches(_ stack: ConformanceStack) throws -> Bool {
    try stack.read { try $0.explain(streamed()).streamsInBatches }
  }

  static func collect<Element>(_ stream: RecordStream<Element>) async throws -> [Element] {
    var result: [Element] = []
    for try await element in stream { result.append(element) }
    return result
  }

  /// Fails unless the stream of a request has the snapshots that a fetch finds.
  private static func expectStream(_ request: FetchRequest<Track>, in context: ManagedObjectContext) async throws {
    let expected = try await context.perform { try $0.snapshots(of: request) }
    let found = try await collect(context.stream(request, unreadLimit: .seconds(3600)))
    try expectEqual(found.count, expected.count, "the number of streamed snapshots")
    try expect(found == expected, "the snapshots of the fetch, in their order")
  }

  private static let requests: [FetchRequest<Track>] = {
    var requests = [
      streamed(), streamed(sort: []), streamed(compare("length", .less, 1_500)),
      streamed(compare("title", .matches, "Tr.ck [135]")),
      streamed(compare("title", .equal, "TRACK 3", .caseInsensitive)),
      streamed(sort: [SortKey("title", .reverse, options: .caseInsensitive)]), streamed(equal("album.title", nil)),
    ]
    for (limit, offset) in [(1_200, 0), (1_500, 700), (nil, 2_400), (0, 0), (10, 5_000)] as [(Int?, Int)] {
      var request = streamed(compare("title", .matches, "Tr.*"))
      request.fetchLimit = limit
      request.fetchOffset = offset
      requests.append(request)
      request.predicate = nil
      requests.append(request)
    }
    return requests
  }()

  @CasesBuilder private static var contents: [Case] {
    Case("a stream has the snapshots of a fetch, in the order and range of the request") { stack in
      try fillStreamed(stack)
      for request in requests { try await expectStream(request, in: stack.context()) }
    }
    Case("a stream from a store without refinements has the same snapshots") { stack in
      try fillStreamed(stack)
      _ = try stack.interpose()
      for request in requests { try await expectStream(request, in: stack.context()) }
    }
    Case("a stream from several stores has the snapshots of a fetch") { stack in
      let coordinator = stack.makeCoordinator()
      let stores = try [false, true].map { companion in
        try stack.attach(try stack.makeLocation(companion: companion), to: coordinator)
      }
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try await context.perform { context in
        for index in 0..<40 {
          try context.assign(try context.make("Track", ["title": "T", "length": index]), to: stores[index % 2])
        }
        try context.save()
      }
      try await expectStream(streamed(), in: context)
    }
    Case("a stream reads no further than its loop asks") { stack in
      try fillStreamed(stack, count: 6_000)
      let interposition = try stack.interpose()
      guard try streamsInBatches(stack) else { return }
      var iterator = stack.context().stream(streamed(), unreadLimit: .seconds(3600)).makeAsyncIterator()
      try expectEqual(try await iterator.next()?.length, 5_999, "the first length")
      try expect(interposition.rowCount <= 2_048, "at most 2,048 rows for the first record")
    }
    Case("a stream that does not fit its request throws when it is read") { stack in
      let unknown = stack.context().stream(streamed(equal("colour", 1)), unreadLimit: .seconds(3600))
      try await expectFailure(.unknownProperty) { _ = try await collect(unknown) }
      var negative = streamed()
      negative.fetchLimit = -1
      let limited = stack.context().stream(negative, unreadLimit: .seconds(3600))
      try await expectFailure(.invalidFetchRequest) { _ = try await collect(limited) }
      let mismatch = stack.context().stream(streamed(), as: PerformerValues.self, unreadLimit: .seconds(3600))
      try await expectFailure(.snapshotMismatch) { _ = try await collect(mismatch) }
    }
  }

  @CasesBuilder private static var moments: [Case] {
    Case("a stream shows the moment of its beginning while others save") { stack in
      try fillStreamed(stack)
      let before = try stack.read { try $0.snapshots(of: streamed()) }
      var iterator = stack.context().stream(streamed(), unreadLimit: .seconds(3600)).makeAsyncIterator()
      var found = [try unwrap(try await iterator.next())]
      try stack.write { context in
        for index in 0..<100 { try context.make("Track", ["title": "Late", "length": index]) }
        for track in try context.fetch(streamed(compare("length", .less, 1_000))) { track[Track.lengthKey] = 9_000 }
        for track in try context.fetch(streamed(between("length", 1_000, 1_200))) { context.delete(track) }
      }
      while let next = try await iterator.next() { found.append(next) }
      try expect(found == before, "the \(before.count) records of the beginning, found \(found.count)")
    }
    Case("a stream shows the unsaved changes of its beginning, also when its context saves them meanwhile") { stack in
      try fillStreamed(stack)
      for request in [
        streamed(), streamed(compare("title", .matches, "Tr.*")), streamed(compare("length", .less, 2_500)),
      ] {
        let context = stack.context()
        let before = try await context.perform { context in
          for length in [-5, 700, 2_400, 9_000] { try context.make("Track", ["title": "Track new", "length": length]) }
          for length in [3, 1_300] { context.delete(try context.one("Track", where: equal("length", length))) }
          for length in [10, 2_000] {
            try context.one("Track", where: equal("length", length)).setValue(length + 30_000, for: "length")
          }
          return try context.snapshots(of: request)
        }
        var iterator = context.stream(request, unreadLimit: .seconds(3600)).makeAsyncIterator()
        var found = [try unwrap(try await iterator.next())]
        try await context.perform { try $0.save() }
        while let next = try await iterator.next() { found.append(next) }
        try expect(found == before, "the \(before.count) records of the beginning, found \(found.count)")
        let inserted = try unwrap(found.compactMap(\.objectID).first { $0.isTemporaryID })
        let current = try await context.perform { $0.object(with: inserted).objectID }
        try expect(!current.isTemporaryID, "the object of a streamed temporary identifier after the save")
        try stack.write { context in
          for track in try context.fetch(streamed()) { context.delete(track) }
        }
        try fillStreamed(stack)
      }
    }
    Case("a stream sees unsaved changes of the records that its predicate leads to, and leaves them out on request") {
      stack in
      try stack.write { try Music.fill($0) }
      let context = stack.context()
      try await context.perform { context in
        try context.one("Album", where: equal("title", "Debut")).setValue("Renamed", for: "title")
      }
      try await expectStream(streamed(equal("album.title", "Renamed")), in: context)
      var saved = streamed(equal("album.title", "Debut"))
      saved.includesPendingChanges = false
      try await expectStream(saved, in: context)
      let tracks = try await collect(context.stream(saved, unreadLimit: .seconds(3600)))
      try expect(!tracks.isEmpty, "the tracks of the saved title")
    }
    Case("a stream of a child context shows the unsaved changes of its parent") { stack in
      try fillStreamed(stack, count: 50)
      let parent = stack.context()
      try await parent.perform { context in
        try context.make("Track", ["title": "Parent", "length": 20])
        context.delete(try context.one("Track", where: equal("length", 7)))
      }
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try await child.perform { context in _ = try context.make("Track", ["title": "Child", "length": 30]) }
      try await expectStream(streamed(), in: child)
    }
  }

  @CasesBuilder private static var ends: [Case] {
    Case("a stream that was left early, read to its end or failed releases its reader") { stack in
      try fillStreamed(stack)
      let interposition = try stack.interpose()
      for try await track in stack.context().stream(streamed(), unreadLimit: .seconds(3600)) where track.length < 2_000
      { break }
      await released(interposition)
      for try await _ in stack.context().stream(streamed(), unreadLimit: .seconds(3600)) {}
      try expectEqual(interposition.openCursorCount, 0, "the number of open cursors after the last record")
      interposition.afterBatch { throw CoherenceError(.inputOutput, "The disk failed.") }
      let failing = stack.context().stream(streamed(), unreadLimit: .seconds(3600))
      try await expectFailure(.inputOutput) { _ = try await collect(failing) }
      try expectEqual(interposition.openCursorCount, 0, "the number of open cursors after a failure")
    }
    Case("a stream whose store fails between two batches throws, and never ends early") { stack in
      try fillStreamed(stack)
      let interposition = try stack.interpose()
      guard try streamsInBatches(stack) else { return }
      var iterator = stack.context().stream(streamed(), unreadLimit: .seconds(3600)).makeAsyncIterator()
      _ = try await iterator.next()
      interposition.afterBatch { throw CoherenceError(.connectionLost, "The link broke.") }
      try await expectFailure(.connectionLost) { while try await iterator.next() != nil {} }
    }
    Case("a stream in a cancelled task throws at its next record and releases its reader") { stack in
      try fillStreamed(stack)
      let interposition = try stack.interpose()
      let stream = stack.context().stream(streamed(), unreadLimit: .seconds(3600))
      let task = Task {
        for try await _ in stream { withUnsafeCurrentTask { $0?.cancel() } }
      }
      try await expectFailure(.cancelled) { try await task.value }
      try expectEqual(interposition.openCursorCount, 0, "the number of open cursors")
    }
    Case("a stream whose store is detached throws") { stack in
      try fillStreamed(stack)
      var iterator = stack.context().stream(streamed(), unreadLimit: .seconds(3600)).makeAsyncIterator()
      _ = try await iterator.next()
      try stack.close()
      try await expectFailure(.storeDetached) { while try await iterator.next() != nil {} }
    }
    Case("the detachment of a store releases the reader of a stream that is not read") { stack in
      try fillStreamed(stack)
      let interposition = try stack.interpose()
      var iterator = stack.context().stream(streamed(), unreadLimit: .seconds(3600)).makeAsyncIterator()
      _ = try await iterator.next()
      try stack.close()
      await released(interposition)
      try await expectFailure(.storeDetached) { while try await iterator.next() != nil {} }
    }
    Case("a stream that is not read releases its reader and says so when it is read again") { stack in
      try fillStreamed(stack)
      let interposition = try stack.interpose()
      guard try streamsInBatches(stack) else { return }
      let stream = stack.context().stream(streamed(), unreadLimit: .milliseconds(20))
      var iterator = stream.makeAsyncIterator()
      _ = try await iterator.next()
      await released(interposition)
      try await expectFailure(.streamExpired) { while try await iterator.next() != nil {} }
    }
  }

  /// Waits until no cursor is open.
  private static func released(_ interposition: Interposition) async {
    while interposition.openCursorCount > 0 { await Task.yield() }
  }

  static func expectFailure(_ code: ErrorCode, _ body: () async throws -> Void) async throws {
    do {
      try await body()
    } catch let error as CoherenceError where error.code == code {
      return
    } catch {
      throw ConformanceFailure("expected the error '\(code.rawValue)', got \(error)", file: #fileID, line: #line)
    }
    throw ConformanceFailure("expected the error '\(code.rawValue)', none was thrown", file: #fileID, line: #line)
  }
}
