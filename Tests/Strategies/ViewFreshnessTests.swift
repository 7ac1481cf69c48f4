import CoherenceCore
import CoherenceStrategies
import Testing
import TestSupport

/// View freshness: a read on the view after a save returned sees it.
@MainActor
@Suite("View freshness")
struct ViewFreshnessTests {
  @Test(arguments: StrategyKind.following, Backend.available)
  func `a fetch on the view finds inserted records`(strategy: StrategyKind, backend: Backend) throws {
    let stack = try Stack(strategy, on: backend)
    let id = try stack.saveUser(named: "ada")
    #expect(try stack.view.fetch(FetchRequest(ContainerUser.self)).map(\.objectID) == [id])
    #expect(try stack.view.count(for: FetchRequest(ContainerUser.self)) == 1)
    #expect(try stack.view.user(id).userName == "ada")
  }

  @Test(arguments: StrategyKind.following, Backend.available)
  func `an object of the view shows the saved change`(strategy: StrategyKind, backend: Backend) throws {
    let stack = try Stack(strategy, on: backend)
    let id = try stack.saveUser(named: "ada")
    let shown = try stack.view.user(id)
    #expect(shown.userName == "ada")
    try stack.change(id) { $0.userName = "grace" }
    let found = try #require(try stack.view.fetch(FetchRequest(ContainerUser.self)).first)
    #expect(found === shown)
    #expect(shown.userName == "grace")
    try stack.change(id) { $0.userName = "hedy" }
    #expect(try stack.view.user(id).userName == "hedy")
  }

  @Test(arguments: StrategyKind.following, Backend.available)
  func `a fetch on the view does not find deleted records`(strategy: StrategyKind, backend: Backend) throws {
    let stack = try Stack(strategy, on: backend)
    let id = try stack.saveUser(named: "ada")
    let shown = try stack.view.user(id)
    try stack.delete(id)
    #expect(try stack.view.count(for: FetchRequest(ContainerUser.self)) == 0)
    #expect(shown.managedObjectContext == nil)
    #expect { try stack.view.user(id) } throws: { ErrorCode.objectNotFound ~= $0 || ErrorCode.objectDeleted ~= $0 }
  }

  @Test(arguments: StrategyKind.following, Backend.available)
  func `the view sees every save of a background context`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let stack = try Stack(strategy, on: backend)
    let background = stack.container.newBackgroundContext()
    let id = try background.performAndWait {
      let user = try ContainerUser.insert(named: "ada", into: background)
      try background.save()
      user.userName = "grace"
      try background.save()
      return user.objectID
    }
    #expect(try stack.view.user(id).userName == "grace")
  }

  @Test(arguments: StrategyKind.following, Backend.available)
  func `the view sees all saves of many contexts`(strategy: StrategyKind, backend: Backend) async throws {
    let stack = try Stack(strategy, on: backend)
    let container = stack.container
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<20 {
        group.addTask {
          try await container.performBackgroundTask { context in
            _ = try ContainerUser.insert(named: "user \(number)", into: context)
            try context.save()
          }
        }
      }
      try await group.waitForAll()
    }
    let names = try stack.view.fetch(FetchRequest(ContainerUser.self)).map(\.userName)
    #expect(Set(names) == Set((0..<20).map { "user \($0)" }))
  }

  @Test(arguments: Backend.available)
  func `the view of independent contexts keeps its values until it is refreshed`(backend: Backend) throws {
    let stack = try Stack(.directIndependent, on: backend)
    let id = try stack.saveUser(named: "ada")
    let shown = try stack.view.user(id)
    try stack.change(id) { $0.userName = "grace" }
    #expect(shown.userName == "ada")
    // A following view would apply the change here.
    #expect(try stack.view.user(id) === shown)
    #expect(shown.userName == "ada")
    stack.view.refreshAll()
    #expect(shown.userName == "grace")
  }

  @Test(arguments: Backend.available)
  func `a fetch on the view of independent contexts finds new records of the store`(backend: Backend) throws {
    let stack = try Stack(.directIndependent, on: backend)
    #expect(try stack.view.count(for: FetchRequest(ContainerUser.self)) == 0)
    _ = try stack.saveUser(named: "ada")
    #expect(try stack.view.count(for: FetchRequest(ContainerUser.self)) == 1)
  }
}
