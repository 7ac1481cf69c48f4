import CoherenceCore
import Dispatch
import Synchronization

extension ConformanceSubject {
  static let smallUnits = ConformanceSubject("Many small units of work") {
    manyContexts
    writersOfOneRecord
  }

  @CasesBuilder private static var manyContexts: [Case] {
    Case("two hundred tasks, each with a context of its own, read, change and save, and nothing is lost") { stack in
      try stack.write { context in
        for number in 0..<20 { try context.make("Album", ["title": "\(number)", "year": 0]) }
      }
      let ids = try stack.read { try $0.all("Album").map(\.objectID) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<200 {
          group.addTask {
            let context = stack.context(.custom(sum))
            let id = ids[task % ids.count]
            try await context.perform { try add(1, to: id, in: context) }
          }
        }
        try await group.waitForAll()
      }
      try stack.read { context in
        let years = try context.all("Album").map { try $0.value(for: "year", as: Int.self) }
        try expectEqual(years, Array(repeating: 10, count: 20))
      }
    }
    Case("a hundred child contexts save into one parent at once, and the parent has all changes") { stack in
      let parent = stack.context()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<100 {
          group.addTask {
            let child = ManagedObjectContext(parent: parent)
            try await child.perform {
              try child.make("Genre", ["name": "\(task)"])
              try child.save()
            }
          }
        }
        try await group.waitForAll()
      }
      try await parent.perform { try parent.save() }
      try stack.read { try expectEqual(try $0.number(of: "Genre"), 100) }
    }
    Case("any number of contexts whose blocks wait for other contexts' blocks finish") { stack in
      let contexts = (0..<64).map { _ in stack.context() }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for start in 0..<8 {
          group.addTask {
            try await contexts[start].perform {
              // The order prevents cycles, in which contexts would wait for each other forever.
              try enter(contexts[(start + 8)...].enumerated().filter { $0.offset % 8 == 0 }.map(\.element)[...])
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }

  /// Enters contexts from within each other.
  private static func enter(_ contexts: ArraySlice<ManagedObjectContext>) throws {
    guard let first = contexts.first else { return }
    try first.performAndWait {
      _ = try first.number(of: "Album")
      try enter(contexts.dropFirst())
    }
  }

  // MARK: One record

  @CasesBuilder private static var writersOfOneRecord: [Case] {
    Case("many tasks that increment one record under a custom policy all succeed with the right sum") {
      stack in
      try await race(stack, tasks: 32, times: 10) { try await $0.perform($1) }
    }
    Case("many threads that increment one record under a custom policy all succeed with the right sum") {
      stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 0]) }
      let id = try stack.read { try $0.one("Album").objectID }
      let failures = DispatchQueue.concurrentPerformCatching(iterations: 16) { _ in
        let context = stack.context(.custom(sum))
        try context.performAndWait { for _ in 0..<10 { try add(1, to: id, in: context) } }
      }
      if let failure = failures.first { throw failure }
      try stack.read { try expectEqual(try $0.one("Album").value(for: "year"), .int(160)) }
    }
    Case("many tasks that change one record succeed under each resolving policy") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 0]) }
      let id = try stack.read { try $0.one("Album").objectID }
      let policies = [MergePolicy.objectTrumps, .overwrite, .storeTrumps, .rollback]
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<32 {
          group.addTask {
            for _ in 0..<10 {
              let context = stack.context(policies[task % policies.count])
              try await context.perform { try add(1, to: id, in: context) }
            }
          }
        }
        try await group.waitForAll()
      }
    }
    Case("a policy that saves another record while it resolves does not stop the save") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 0]) }
      let id = try stack.read { try $0.one("Album").objectID }
      let policy = MergePolicy.custom { conflict in
        try stack.write { try $0.make("Genre", ["name": "conflict"]) }
        return conflict.mine?.values
      }
      let late = stack.context(policy)
      try late.performAndWait {
        let album = try late.existingObject(with: id)
        try stack.write { try $0.existingObject(with: id).setValue(1, for: "year") }
        try album.setValue(2, for: "year")
        try late.save()
      }
      try stack.read { context in
        try expectEqual(try context.number(of: "Genre"), 1)
        try expectEqual(try context.one("Album").value(for: "year"), .int(2))
      }
    }
  }

  private static func race(
    _ stack: ConformanceStack, tasks: Int, times: Int,
    _ run: @escaping @Sendable (ManagedObjectContext, @escaping @Sendable () throws -> Void) async throws -> Void
  ) async throws {
    try stack.write { try $0.make("Album", ["title": "A", "year": 0]) }
    let id = try stack.read { try $0.one("Album").objectID }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<tasks {
        group.addTask {
          for _ in 0..<times {
            let context = stack.context(.custom(sum))
            try await run(context) { try add(1, to: id, in: context) }
          }
        }
      }
      try await group.waitForAll()
    }
    try stack.read { try expectEqual(try $0.one("Album").value(for: "year"), .int(Int64(tasks * times))) }
  }

  private static func add(_ number: Int, to id: ManagedObjectID, in context: ManagedObjectContext) throws {
    let album = try context.existingObject(with: id)
    try album.setValue(try album.value(for: "year", as: Int.self) + number, for: "year")
    try context.save()
  }

  /// The sum of both writers' increments.
  @Sendable private static func sum(_ conflict: Conflict) throws -> [AttributeValue]? {
    guard let ancestor = conflict.ancestor, let mine = conflict.mine, let store = conflict.store,
      let slot = ancestor.entity.attribute(named: "year")?.slot, case .int(let before) = ancestor[slot],
      case .int(let wanted) = mine[slot], case .int(let present) = store[slot]
    else { throw ConformanceFailure("A conflict lacks one of its three states.") }
    var values = mine.values
    values[slot] = .int(present + wanted - before)
    return values
  }
}

extension DispatchQueue {
  /// Runs a block on several threads at once and returns the thrown errors.
  fileprivate static func concurrentPerformCatching(
    iterations: Int, _ body: @Sendable (Int) throws -> Void
  ) -> [any Error] {
    let failures = Failures()
    concurrentPerform(iterations: iterations) { index in
      do { try body(index) } catch { failures.add(error) }
    }
    return failures.all
  }
}

/// The errors thrown on several threads.
private final class Failures: Sendable {
  private let errors = Mutex<[any Error]>([])
  var all: [any Error] { errors.withLock { $0 } }
  func add(_ error: any Error) { errors.withLock { $0.append(error) } }
}
