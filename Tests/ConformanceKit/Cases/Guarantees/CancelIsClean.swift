import CoherenceCore
import Dispatch

extension ConformanceSubject {
  static let cancelIsClean = ConformanceSubject("Cancel is clean") {
    saves
    fetches
  }

  private static func cancelCurrentTask() { withUnsafeCurrentTask { $0?.cancel() } }

  /// Runs a body in a task of its own, and fails unless it was cancelled.
  private static func expectCancelled<T: Sendable>(_ body: @escaping @Sendable () async throws -> T) async throws {
    let result = await Task { try await body() }.result
    try expectThrows(.cancelled) { try result.get() }
  }

  private enum TaskValue { @TaskLocal static var current = 0 }

  @CasesBuilder private static var saves: [Case] {
    Case("a save in a cancelled task is applied or reported, never half") { stack in
      let context = stack.context()
      let task = Task {
        cancelCurrentTask()
        try await context.perform {
          for index in 0..<100 { try context.make("Genre", ["name": "\(index)"]) }
          try context.save()
        }
      }
      let isSaved = await task.result.isSuccess
      try stack.read { try expectEqual(try $0.number(of: "Genre"), isSaved ? 100 : 0) }
    }
    Case("a block whose task is cancelled while it waits for its turn never runs") { stack in
      let context = stack.context()
      let gate = DispatchSemaphore(value: 0)
      context.perform(onError: { _ in }) { gate.wait() }
      // An immediate task runs up to its first suspension, in which it waits for the earlier block.
      let task = Task.immediateDetached {
        try await context.perform {
          try context.make("Genre", ["name": "Jazz"])
          try context.save()
        }
      }
      task.cancel()
      gate.signal()
      var isCancellation = false
      if case .failure(let error) = await task.result { isCancellation = error is CancellationError }
      try expect(isCancellation, "a CancellationError")
      try context.performAndWait { try expectEqual(context.insertedObjects.count, 0) }
      try stack.read { try expectEqual(try $0.number(of: "Genre"), 0) }
    }
    Case("a cancel after the store has saved does not undo the save") { stack in
      let interposition = try stack.interpose()
      interposition.afterSave { _ in cancelCurrentTask() }
      let context = stack.context()
      let task = Task {
        try await context.perform {
          try context.make("Genre", ["name": "Jazz"])
          try context.save()
        }
      }
      _ = await task.result
      interposition.afterSave(nil)
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz"]) }
      try context.performAndWait { try expect(!context.hasChanges, "nothing to save") }
    }
    Case("after a save that a cancel stopped, the save passes in another task") { stack in
      let context = stack.context()
      let task = Task {
        try await context.perform {
          try context.make("Genre", ["name": "Jazz"])
          cancelCurrentTask()
          try context.save()
        }
      }
      _ = await task.result
      try context.performAndWait { try context.save() }
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz"]) }
    }
  }

  @CasesBuilder private static var fetches: [Case] {
    Case("a fetch in a cancelled task throws, and the next fetch returns every record") { stack in
      try stack.write { try Music.fill($0) }
      let context = stack.context()
      try await expectCancelled {
        try await context.perform {
          cancelCurrentTask()
          return try context.names("Album")
        }
      }
      try context.performAndWait { try expectEqual(try context.number(of: "Album"), 8) }
    }
    Case("a fetch cancelled during its reads stops, and leaves context and store usable") { stack in
      try stack.write { try Music.fill($0) }
      let interposition = try stack.interpose()
      interposition.beforeFetch { cancelCurrentTask() }
      let context = stack.context()
      try await expectCancelled { try await context.perform { try context.names("Track") } }
      interposition.beforeFetch(nil)
      try context.performAndWait {
        try expectEqual(try context.names("Track").count, 9)
        try context.make("Genre", ["name": "new"])
        try context.save()
      }
      try stack.read { try expectEqual(try $0.number(of: "Genre"), 5) }
    }
    Case("a fetch is cancelled from another task while it runs") { stack in
      try stack.write { try Music.fill($0) }
      let interposition = try stack.interpose()
      let (begun, gate) = (AsyncStream<Void>.makeStream(), DispatchSemaphore(value: 0))
      interposition.beforeFetch {
        begun.continuation.yield()
        gate.wait()
      }
      let context = stack.context()
      let task = Task { try await context.perform { try context.names("Track") } }
      for await _ in begun.stream { break }
      task.cancel()
      gate.signal()
      try await expectCancelled { try await task.value }
      interposition.beforeFetch(nil)
      try context.performAndWait { try expectEqual(try context.names("Track").count, 9) }
    }
    Case("a block that takes longer than its timeout is cancelled, and the context goes on") { stack in
      try stack.write { try Music.fill($0) }
      let context = stack.context()
      let result = await Task {
        try await context.perform(timeout: .zero) { context in
          while !Task.isCancelled {}
          return try context.names("Track")
        }
      }.result
      let error = try expectThrows(.timedOut) { try result.get() }
      try expectEqual(error.outcome, .notApplied)
      try context.performAndWait { try expectEqual(try context.names("Track").count, 9) }
    }
    Case("a block within its timeout has its result, and a cancellation of its task is no timeout") { stack in
      try stack.write { try Music.fill($0) }
      let context = stack.context()
      let names = try await context.perform(timeout: .seconds(3_600)) { try $0.names("Genre") }
      try expectEqual(names, ["Jazz", "Modal", "Pop", "Rock"])
      let task = Task {
        cancelCurrentTask()
        return try await context.perform(timeout: .seconds(3_600)) { try $0.names("Track") }
      }
      do {
        _ = try await task.result.get()
        throw ConformanceFailure("expected a cancellation")
      } catch is CancellationError {
        // The error of the form without a time.
      }
    }
    Case("a block with the longest timeout has its result") { stack in
      try stack.write { try Music.fill($0) }
      let context = stack.context()
      let names = try await context.perform(timeout: .seconds(Int64.max)) { try $0.names("Genre") }
      try expectEqual(names, ["Jazz", "Modal", "Pop", "Rock"])
    }
    Case("a block sees the task-local values of its task") { stack in
      let context = stack.context()
      let value = try await TaskValue.$current.withValue(7) { try await context.perform { TaskValue.current } }
      try expectEqual(value, 7)
    }
    Case("a cancelled task leaves unsaved changes alone") { stack in
      let context = stack.context()
      try context.performAndWait { _ = try context.make("Genre", ["name": "Jazz"]) }
      let task = Task {
        cancelCurrentTask()
        return try await context.perform { try context.names("Genre") }
      }
      _ = await task.result
      try context.performAndWait {
        try expectEqual(context.insertedObjects.count, 1)
        try expectEqual(try context.names("Genre"), ["Jazz"])
      }
    }
  }
}

extension Result {
  fileprivate var isSuccess: Bool {
    if case .success = self { return true }
    return false
  }
}
