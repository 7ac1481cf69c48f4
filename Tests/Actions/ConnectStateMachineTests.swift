import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceSQLite
import CoherenceStrategies
import Testing
import TestSupport

@Suite("The states of a Connect")
struct ConnectStateMachineTests {
  @Test func `each transition is legal in one state only`() {
    let ways = ConnectTransition.allCases.flatMap { transition in
      ConnectState.allCases.compactMap { state in
        transition.target(from: state).map { "\(state) \(transition) \($0)" }
      }
    }
    #expect(
      ways == [
        "stopped start starting", "starting startSucceeded started", "starting startFailed stopped",
        "started stop stopping", "stopping stopFinished stopped",
      ])
  }

  @Test func `the events of a start and a stop contain every state in order`() async throws {
    let stack = try ConnectStack()
    let events = stack.connect.events
    #expect(stack.connect.state == .stopped)
    try await stack.connect.start()
    #expect(stack.connect.state == .started)
    try await stack.connect.stop()
    #expect(stack.connect.state == .stopped)
    var states: [ConnectState] = []
    for await case .stateChanged(let state) in events {
      states.append(state)
      if state == .stopped { break }
    }
    #expect(states == [.starting, .started, .stopping, .stopped])
  }

  @Test func `a failed start returns to the state stopped`() async throws {
    let stack = try ConnectStack()
    try stack.connect.attachPersistentStore(for: StoreConfiguration(fileName: "1.sqlite"))
    try await stack.connect.start()
    let place = try #require(stack.connect.persistentStoreCoordinator.persistentStores[0].url)
    try await stack.connect.stop()
    let held = try stack.connect.persistentStoreCoordinator.addPersistentStore(type: .sqlite, at: place)
    await #expect(throws: CoherenceError.self) { try await stack.connect.start() }
    #expect(stack.connect.state == .stopped)
    try stack.connect.persistentStoreCoordinator.remove(held)
    try await stack.connect.start()
    #expect(stack.connect.state == .started)
  }

  @Test func `a start during a stop waits for the stop and then starts`() async throws {
    let stack = try ConnectStack.started()
    let connect = stack.connect
    let script = MockScript(waits: true, ignoresCancel: true)
    try connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    await script.untilBegun()
    let events = connect.events
    let stopping = Task { try await connect.stop() }
    for await case .stateChanged(.stopping) in events { break }
    async let starting: Void = connect.start()
    #expect(connect.state == .stopping)
    script.release()
    try await stopping.value
    try await starting
    #expect(connect.state == .started)
    #expect(connect.isManaged(try stack.entity("ConnectEntity1")))
  }

  @Test func `concurrent stops share one stop, and every caller waits for its end`() async throws {
    let stack = try ConnectStack.started()
    let connect = stack.connect
    let script = MockScript(waits: true, ignoresCancel: true)
    let handle = try connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    await script.untilBegun()
    let events = connect.events
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          try await connect.stop()
          #expect(handle.state == .finished)
        }
      }
      for await case .stateChanged(.stopping) in events { break }
      await script.untilCanceled()
      script.release()
      try await group.waitForAll()
    }
    #expect(connect.state == .stopped)
    #expect(script.cancelCount == 1)
  }

  @Test func `asynchronous starts and stops take place in the order of their calls`() async throws {
    let stack = try ConnectStack()
    let connect = stack.connect
    let events = connect.events
    for _ in 0..<2 {
      connect.start { #expect($0 == nil) }
      connect.stop { #expect($0 == nil) }
    }
    var states: [ConnectState] = []
    for await case .stateChanged(let state) in events {
      states.append(state)
      if states.count == 8 { break }
    }
    let round = [ConnectState.starting, .started, .stopping, .stopped]
    #expect(states == round + round)
  }

  @Test func `a start by an action throws while its Connect is stopping`() async throws {
    let stack = try ConnectStack.started()
    let connect = stack.connect
    let script = MockScript(waits: true, ignoresCancel: true)
    let handle = try connect.execute(
      ClosureAction(ConnectEntity1.self) { _ in
        try script.run()
        try connect.start()
      })
    await script.untilBegun()
    let events = connect.events
    async let stopping: Void = connect.stop(.drain)
    for await case .stateChanged(.stopping) in events { break }
    script.release()
    await #expect { try await handle.value } throws: { ErrorCode.illegalState ~= $0 }
    try await stopping
    #expect(connect.state == .stopped)
  }
}
