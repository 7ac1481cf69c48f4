import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceStrategies
import Logging
import Testing
import TestSupport

@Suite("Log entries of actions")
struct ActionMessageTests {
  private let log = MessageLog()
  private let directory = TemporaryDirectory()
  private let connect: TestConnect

  init() throws {
    connect = TestConnect(
      name: "Log", managedObjectModel: ConnectModels.main, storeLocation: directory.url, logger: log.logger)
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try connect.start()
  }

  /// The warnings about actions. The model has an entity with a warning of its own.
  private var warnings: [String] { log.texts(.warning).filter { $0.hasPrefix("The action ") } }

  /// An action that inserts a record.
  private func inserting(isSaved: Bool) -> ClosureAction<ConnectEntity1> {
    ClosureAction(ConnectEntity1.self) { context in
      try context.performAndWait {
        context.insert(ConnectEntity1.make(1, "one"))
        if isSaved { try context.save() }
      }
    }
  }

  /// Submits an action and returns it after all of its log entries, which precede the completion block.
  private func finish(
    _ submit: (@escaping @Sendable (any ActionProxy) -> Void) throws -> Void
  ) async throws -> any ActionProxy {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<any ActionProxy, any Error>) in
      do {
        try submit { continuation.resume(returning: $0) }
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }

  @Test func `the debug log has one line for the start and one for the end of an action`() async throws {
    _ = try await finish { _ = try connect.execute(inserting(isSaved: true), completionBlock: $0) }
    let texts = log.texts(.debug).filter { $0.hasPrefix("Action ") }
    #expect(texts.count == 2)
    #expect(texts.allSatisfy { !$0.contains("\n") })
    #expect(texts.last?.contains("1 inserted") == true)
    #expect(log.texts(.info).allSatisfy { !$0.hasPrefix("Action ") })
    #expect(warnings.isEmpty)
  }

  @Test func `the log of a start says which entities are managed, and names missing attributes`() {
    let names = [
      "ConnectEntity1", "ConnectEntity2", "ConnectEntity3Unmanaged", "ConnectEntity4MissingUniquenessAttribute",
    ]
    let texts = log.texts(.info)
    func logged(_ sentence: String) -> [Bool] {
      names.map { name in texts.contains { $0.hasPrefix(sentence) && $0.contains(name) } }
    }
    #expect(logged("Entity is managed.") == [true, true, false, false])
    #expect(logged("Entity is not managed:") == [false, false, true, true])
    let missing = log.texts(.warning).filter { $0.hasPrefix("The entity lacks attributes") }
    #expect(missing.count == 1 && missing.allSatisfy { $0.contains(names[3]) && $0.contains("missingAttribute") })
  }

  @Test func `a replaced action is logged as replaced, and not as an error`() async throws {
    connect.suspended = true
    let options = ActionOptions(uniqueKey: "key", equalActionPolicy: .replace)
    let replaced = try await finish { completion in
      try connect.execute(MockGenericAction(), options: options, completionBlock: completion)
      try connect.execute(MockGenericAction(), options: options)
    }
    #expect(replaced.statistics.isReplaced && "\(replaced.statistics)".contains("replaced: true"))
    #expect(log.texts(.error).isEmpty)
    #expect(log.texts(.debug).count { $0.hasPrefix("Action canceled.") && $0.contains("replaced by an equal") } == 1)
  }

  @Test func `a cancelled action is logged as cancelled, and not as an error`() async throws {
    let script = MockScript()
    let canceled = try await finish { completion in
      let handle = try connect.execute(
        TaskAction<Void> {
          try script.run()
          while true {
            try Task.checkCancellation()
            await Task.yield()
          }
        }, completionBlock: completion)
      Task {
        await script.untilBegun()
        handle.cancel()
      }
    }
    #expect(canceled.completionStatus == .canceled && canceled.error is CancellationError)
    #expect(log.texts(.error).isEmpty)
    #expect(log.texts(.debug).count { $0.hasPrefix("Action canceled.") } == 1)
  }

  @Test func `a cancelled action that throws another error is logged as an error`() async throws {
    let script = MockScript()
    let canceled = try await finish { completion in
      let handle = try connect.execute(
        TaskAction<Void> {
          try script.run()
          while !Task.isCancelled { await Task.yield() }
          throw MockError()
        }, completionBlock: completion)
      Task {
        await script.untilBegun()
        handle.cancel()
      }
    }
    #expect(canceled.completionStatus == .canceled)
    #expect(log.texts(.error).count { $0.contains("Action threw an error.") } == 1)
  }

  @Test func `the error of a cancellation that nobody has requested is logged as an error`() async throws {
    let action = TaskAction<Void> { throw CancellationError() }
    let failed = try await finish { _ = try connect.execute(action, completionBlock: $0) }
    #expect(failed.completionStatus == .failed)
    #expect(log.texts(.error).count { $0.contains("Action threw an error.") } == 1)
  }

  @Test func `the line for the end of an action has its attempts and joins, if there are several`() async throws {
    _ = try await finish { _ = try connect.execute(MockGenericAction(), completionBlock: $0) }
    let plain = try #require(log.texts(.debug).last { $0.hasPrefix("Action ") })
    #expect(!plain.contains("attempts") && !plain.contains("joined") && !plain.contains("replaced"), "\(plain)")
    connect.suspended = true
    let options = ActionOptions(uniqueKey: "key", retry: RetryPolicy(attempts: 2, initialDelay: .zero))
    _ = try await finish { completion in
      let action = MockGenericAction(script: MockScript(fails: true))
      try connect.execute(action, options: options, completionBlock: completion)
      try connect.execute(action, options: options)
      connect.suspended = false
    }
    let line = try #require(log.texts(.debug).last { $0.hasPrefix("Action failed.") })
    #expect(line.contains("2 attempts, joined 1 times"), "\(line)")
  }

  @Test func `a failed action is logged as an error`() async throws {
    let action = MockGenericAction(script: MockScript(fails: true))
    _ = try await finish { _ = try connect.execute(action, completionBlock: $0) }
    #expect(log.texts(.error).count { $0.contains("Action threw an error.") } == 1)
  }

  @Test func `unsaved changes of a successful action are logged as a warning and noted in its statistics`() async throws
  {
    let handle = try connect.execute(inserting(isSaved: false))
    try await handle.value
    #expect(handle.completionStatus == .successful)
    #expect(handle.statistics.hasUnsavedChanges)
    #expect("\(handle.statistics)".contains("unsavedChanges: true"))
    #expect(warnings.count == 1 && warnings.allSatisfy { $0.contains("ClosureAction") && $0.contains("save") })
  }

  @Test func `unsaved changes of a successful asynchronous action are logged as a warning`() async throws {
    let handle = try connect.execute(
      EntityTaskAction { context in
        try await context.perform { context.insert(ConnectEntity1.make(1, "one")) }
      })
    try await handle.value
    #expect(handle.statistics.hasUnsavedChanges && warnings.count == 1)
  }

  @Test func `an action that saves, rolls back or fails causes no warning`() async throws {
    let saving = try connect.execute(inserting(isSaved: true))
    let undoing = try connect.execute(
      ClosureAction(ConnectEntity1.self) { context in
        context.performAndWait {
          context.insert(ConnectEntity1.make(2, "two"))
          context.rollback()
        }
      })
    let failing = try connect.execute(
      ClosureAction(ConnectEntity1.self) { context in
        try context.performAndWait {
          context.insert(ConnectEntity1.make(3, "three"))
          throw MockError()
        }
      })
    for handle in [saving, undoing, failing] {
      try await handle.waitUntilFinished()
      #expect(!handle.statistics.hasUnsavedChanges)
    }
    #expect(warnings.isEmpty)
  }
}
