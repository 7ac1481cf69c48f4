import CoherenceCore
import Foundation
import Synchronization

extension ConformanceSubject {
  @CasesBuilder static var objectBatches: [Case] {
    Case("batches of objects have the objects of a fetch, and are released again") { stack in
      try fillStreamed(stack)
      let context = stack.context()
      let expected = try await context.perform { try $0.fetch(streamed()).map(\.objectID) }
      let seen = Mutex<(ids: [ManagedObjectID], most: Int)>(([], 0))
      try await context.forEachBatch(of: streamed(), batchSize: 500, unreadLimit: .seconds(3600)) { objects in
        let registered = objects.first?.managedObjectContext?.registeredObjects.count ?? 0
        seen.withLock {
          $0.ids += objects.map(\.objectID)
          $0.most = max($0.most, registered)
        }
      }
      try expect(seen.withLock { $0.ids } == expected, "the objects of the fetch, in their order")
      try expectEqual(seen.withLock { $0.most }, 500, "the greatest number of objects in the context")
    }
    Case("batches of objects can be changed and saved while their stream continues") { stack in
      try fillStreamed(stack)
      let context = stack.context()
      try await context.forEachBatch(of: streamed(), batchSize: 400, unreadLimit: .seconds(3600)) { objects in
        for track in objects { track[Track.lengthKey] += 10_000 }
        try objects.first?.managedObjectContext?.save()
      }
      let lengths = try stack.read { try $0.snapshots(of: streamed()).map(\.length) }
      try expect(lengths == (10_000..<12_600).reversed().map { Int32($0) }, "each length raised once")
    }
    Case("batches of objects have the unsaved objects of the context, without those it has deleted since") { stack in
      try fillStreamed(stack, count: 100)
      let context = stack.context()
      try await context.perform { context in
        try context.make("Track", ["title": "New", "length": 1_000])
        try context.one("Track", where: equal("length", 5)).setValue(500, for: "length")
        context.delete(try context.one("Track", where: equal("length", 6)))
      }
      let lengths = Mutex<[Int32]>([])
      try await context.forEachBatch(of: streamed(), batchSize: 10, unreadLimit: .seconds(3600)) { objects in
        lengths.withLock { $0 += objects.map { $0[Track.lengthKey] } }
        guard let context = objects.first?.managedObjectContext else { return }
        for track in try context.fetch(streamed(equal("length", 50))) { context.delete(track) }
      }
      let expected = [1_000, 500] + (0..<100).reversed().filter { ![5, 6, 50].contains($0) }
      try expectEqual(lengths.withLock { $0 }, expected.map { Int32($0) }, "the lengths")
    }
    Case("a main context streams its objects on the main actor") { stack in
      try fillStreamed(stack)
      try expectEqual(try await lengthsOnMain(stack), (0..<2_600).reduce(0, +), "the sum of the lengths")
    }
    Case("a stream whose batch could not become objects has failed, and skips no batch") { stack in
      try fillStreamed(stack, count: 10)
      try expectEqual(try await codesOfFailedBatch(stack), [.illegalState, .illegalState], "the errors")
    }
    Case("objects are not streamed where their context cannot be used") { stack in
      try fillStreamed(stack, count: 3)
      let stream = stack.context().streamObjects(streamed(), unreadLimit: .seconds(3600))
      try await expectFailure(.wrongContext) { for try await _ in stream {} }
    }
  }

  /// The errors of two reads of a stream after its first batch: the first read under a pinned snapshot, which a stream
  /// does not share, and the second one after the snapshot.
  @MainActor private static func codesOfFailedBatch(_ stack: ConformanceStack) async throws -> [ErrorCode] {
    let context = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: stack.coordinator)
    var batches = context.streamObjects(streamed(), batchSize: 4, unreadLimit: .seconds(3600)).makeAsyncIterator()
    try expectEqual(try await batches.next(isolation: #isolation)?.count, 4, "the objects of the first batch")
    try context.pinSnapshot()
    var codes: [ErrorCode] = []
    for _ in 0..<2 {
      do {
        _ = try await batches.next(isolation: #isolation)
      } catch let error as CoherenceError {
        codes.append(error.code)
      }
      context.unpinSnapshot()
    }
    return codes
  }

  @MainActor private static func lengthsOnMain(_ stack: ConformanceStack) async throws -> Int {
    let context = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: stack.coordinator)
    var sum = 0
    for try await objects in context.streamObjects(streamed(), batchSize: 700, unreadLimit: .seconds(3600)) {
      for track in objects { sum += Int(track[Track.lengthKey]) }
    }
    return sum
  }
}
