import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceService
import CoherenceStrategies
import Dispatch
import Foundation
import Logging
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

@Suite("Connect as a service")
struct ConnectServiceTests {
  private typealias TestConnect = GenericConnect<ContextStrategy.Direct>

  private func makeConnect(_ configuration: StoreConfiguration = StoreConfiguration(type: .inMemory)) throws
    -> TestConnect
  {
    let model = try ManagedObjectModel {
      Entity("Person", userInfo: ["uniquenessAttributes": "name"]) { Attribute("name", .string) }
    }
    let connect = TestConnect(name: "Service", managedObjectModel: model)
    try connect.attachPersistentStore(for: configuration)
    return connect
  }

  /// Returns when the Connect is in a state.
  private func wait(for state: ConnectState, of connect: TestConnect) async {
    let events = connect.events
    if connect.state == state { return }
    for await event in events {
      if case .stateChanged(state) = event { return }
    }
  }

  @Test func `a graceful shutdown stops the Connect and closes its stores`() async throws {
    let connect = try makeConnect()
    let service = ConnectService(connect)
    try await testGracefulShutdown { trigger in
      async let run: Void = service.run()
      await wait(for: .started, of: connect)
      #expect(connect.persistentStoreCoordinator.persistentStores.count == 1)
      trigger.triggerGracefulShutdown()
      try await run
    }
    #expect(connect.state == .stopped)
    #expect(connect.persistentStoreCoordinator.persistentStores.isEmpty)
  }

  @Test func `a service group starts the Connect and stops it`() async throws {
    let connect = try makeConnect()
    let logger = Logger(label: "coherence.tests")
    let group = ServiceGroup(services: [ConnectService(connect, drainLimit: .seconds(20))], logger: logger)
    async let run: Void = group.run()
    await wait(for: .started, of: connect)
    await group.triggerGracefulShutdown()
    try await run
    #expect(connect.state == .stopped)
  }

  @Test func `a graceful shutdown lets actions finish`() async throws {
    let connect = try makeConnect()
    let service = ConnectService(connect)
    let gate = ServiceGate()
    try await testGracefulShutdown { trigger in
      async let run: Void = service.run()
      await wait(for: .started, of: connect)
      let running = try connect.execute(GatedAction(gate: gate))
      await gate.waitUntilReached()
      trigger.triggerGracefulShutdown()
      await wait(for: .stopping, of: connect)
      gate.open()
      try await run
      #expect(running.completionStatus == .successful)
    }
    #expect(connect.state == .stopped)
  }

  @Test func `actions beyond the drain limit are cancelled`() async throws {
    let connect = try makeConnect()
    let service = ConnectService(connect, drainLimit: .milliseconds(20))
    let gate = ServiceGate()
    try await testGracefulShutdown { trigger in
      async let run: Void = service.run()
      await wait(for: .started, of: connect)
      let running = try connect.execute(GatedAction(gate: gate))
      await gate.waitUntilReached()
      trigger.triggerGracefulShutdown()
      try await run
      #expect(running.completionStatus == .canceled)
    }
    #expect(connect.persistentStoreCoordinator.persistentStores.isEmpty)
  }

  @Test func `actions that ignore their cancellation delay the shutdown up to the cancel limit`() async throws {
    let connect = try makeConnect()
    let service = ConnectService(connect, drainLimit: .zero, cancelLimit: .zero)
    let action = StubbornAction()
    try await testGracefulShutdown { trigger in
      async let run: Void = service.run()
      await wait(for: .started, of: connect)
      try connect.execute(action)
      await action.gate.waitUntilReached()
      trigger.triggerGracefulShutdown()
      var failure: (any Error)?
      do {
        try await run
      } catch {
        failure = error
      }
      #expect(failure.map { ErrorCode.timedOut ~= $0 } == true)
    }
    #expect(connect.state == .stopping && connect.persistentStoreCoordinator.persistentStores.count == 1)
    action.end.signal()
    try await connect.stop()
    #expect(connect.persistentStoreCoordinator.persistentStores.isEmpty)
  }

  @Test func `cancelling the service's task cancels actions at once`() async throws {
    let connect = try makeConnect()
    let gate = ServiceGate()
    let run = Task { try await ConnectService(connect, drainLimit: .seconds(3600)).run() }
    await wait(for: .started, of: connect)
    let running = try connect.execute(GatedAction(gate: gate))
    await gate.waitUntilReached()
    run.cancel()
    try await run.value
    #expect(running.completionStatus == .canceled)
    #expect(connect.state == .stopped)
  }

  @Test func `a service group stops the Connect after the services that use it`() async throws {
    let connect = try makeConnect()
    let submitter = SubmitterAtShutdown(connect: connect)
    let group = ServiceGroup(services: [ConnectService(connect), submitter], logger: Logger(label: "test"))
    async let run: Void = group.run()
    await wait(for: .started, of: connect)
    await submitter.gate.waitUntilReached()
    await group.triggerGracefulShutdown()
    try await run
    #expect(submitter.outcome.status == .successful)
    #expect(connect.state == .stopped)
  }

  @Test func `the service throws the error of a failed start`() async throws {
    let connect = TestConnect(
      name: "Service", managedObjectModel: try ManagedObjectModel { Entity("Person") { Attribute("name", .string) } },
      registry: StoreRegistry())
    // The type of the default store is not registered.
    await #expect { try await ConnectService(connect).run() } throws: { ErrorCode.unknownStoreType ~= $0 }
    #expect(connect.state == .stopped)
  }
}

/// An action that waits at a gate, or for its cancellation.
private struct GatedAction: AsyncGenericAction {
  let gate: ServiceGate

  func execute() async throws {
    await gate.pass()
    try Task.checkCancellation()
  }
}

/// An action that ignores its cancellation until a test ends it.
private struct StubbornAction: GenericAction {
  let gate = ServiceGate()
  let end = DispatchSemaphore(value: 0)

  func execute() throws {
    gate.reach()
    end.wait()
  }
}

/// A service that executes an action at its shutdown.
private struct SubmitterAtShutdown: Service {
  let connect: any Connect & ActionManager
  let gate = ServiceGate()
  let outcome = SubmissionOutcome()

  func run() async throws {
    gate.reach()
    try await gracefulShutdown()
    let open = ServiceGate()
    open.open()
    let handle = try connect.execute(GatedAction(gate: open))
    try await handle.waitUntilFinished()
    outcome.status = handle.completionStatus
  }
}
