import CoherenceCore
import CoherenceInMemory
import CoherenceStrategies
import Logging
import Testing
import TestSupport

@MainActor
@Suite("Background tasks")
struct BackgroundTaskTests {
  @Test(arguments: StrategyKind.allCases)
  func `a background task saves and returns a value`(strategy: StrategyKind) async throws {
    let stack = try Stack(strategy, on: .sqlite)
    let id = try await stack.container.performBackgroundTask { context in
      let user = try ContainerUser.insert(named: "ada", into: context)
      try context.save()
      return user.objectID
    }
    #expect(try stack.storedName(of: id) == "ada")
    #expect(try stack.view.user(id).userName == "ada")
  }

  @Test func `a background task throws the error of its block`() async throws {
    let stack = try Stack(.mixed, on: .inMemory)
    await #expect(throws: TestError.self) {
      try await stack.container.performBackgroundTask { _ in throw TestError() }
    }
  }

  @Test func `unsaved changes of a background task are lost`() async throws {
    let stack = try Stack(.mixed, on: .inMemory)
    try await stack.container.performBackgroundTask { context in
      _ = try ContainerUser.insert(named: "ada", into: context)
    }
    #expect(try stack.view.count(for: FetchRequest(ContainerUser.self)) == 0)
  }

  @Test func `a background task that ends with unsaved changes is one warning in the log`() async throws {
    let log = MessageLog()
    func warnings() -> Int { log.texts(.warning).count { $0.contains("background task") } }
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(
      name: "Logged", managedObjectModel: ContainerModels.users, logger: log.logger)
    try container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await container.performBackgroundTask { context in
      _ = try ContainerUser.insert(named: "ada", into: context)
      try context.save()
    }
    try await container.performBackgroundTask { context in
      _ = try ContainerUser.insert(named: "bea", into: context)
      context.rollback()
    }
    #expect(warnings() == 0)
    try await container.performBackgroundTask { context in
      for user in try context.fetch(FetchRequest(ContainerUser.self)) { context.delete(user) }
    }
    #expect(warnings() == 1)
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      container.performBackgroundTask(
        { context in _ = try ContainerUser.insert(named: "cleo", into: context) },
        completion: { _ in continuation.resume() })
    }
    #expect(warnings() == 2)
  }

  @Test func `a background task without an awaiting caller calls its completion`() async throws {
    let stack = try Stack(.mixed, on: .inMemory)
    let error = await withCheckedContinuation { continuation in
      stack.container.performBackgroundTask(
        { context in
          _ = try ContainerUser.insert(named: "ada", into: context)
          try context.save()
        }, completion: { continuation.resume(returning: $0) })
    }
    #expect(error == nil)
    #expect(try stack.view.count(for: FetchRequest(ContainerUser.self)) == 1)
  }

  @Test func `the error handler receives the error of a background task without a completion`() async throws {
    let error = await withCheckedContinuation { continuation in
      let directory = TemporaryDirectory()
      let container = StrategyKind.direct.makeContainer(in: directory) { continuation.resume(returning: $0) }
      startFailingTask(in: container)
    }
    #expect(error is TestError)
  }

  @Test func `an error without a caller is logged once before the error handler is called`() async throws {
    let log = MessageLog()
    let errors = await withCheckedContinuation { continuation in
      let container = GenericPersistentContainer<ContextStrategy.Mixed>(
        name: "Logged", managedObjectModel: ContainerModels.users,
        asyncErrorBlock: { _ in continuation.resume(returning: log.texts(.error)) }, logger: log.logger)
      startFailingTask(in: container)
    }
    #expect(errors.count == 1)
    #expect(errors.first?.contains("TestError") == true)
  }

  private func startFailingTask(in container: any PersistentContainer) {
    container.performBackgroundTask({ _ in throw TestError() }, completion: nil)
  }
}
