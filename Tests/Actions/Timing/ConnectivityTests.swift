import CoherenceActions
import Testing

@Suite("Connectivity")
struct ConnectivityTests {
  @Test func `a stream has the present state and then each change`() async {
    let connectivity = ManualConnectivity(isOnline: false)
    var states = connectivity.changes.makeAsyncIterator()
    connectivity.isOnline = false
    connectivity.isOnline = true
    connectivity.isOnline = true
    connectivity.isOnline = false
    #expect(await states.next() == false)
    #expect(await states.next() == true)
    #expect(await states.next() == false)
    var later = connectivity.changes.makeAsyncIterator()
    #expect(await later.next() == false)
  }

  @Test func `the streams of a released connectivity end after their changes`() async throws {
    var connectivity: ManualConnectivity? = ManualConnectivity(isOnline: false)
    let changes = try #require(connectivity?.changes)
    connectivity?.isOnline = true
    connectivity = nil
    var states: [Bool] = []
    for await state in changes { states.append(state) }
    #expect(states == [false, true])
  }

  @Test func `a connectivity without an offline state sends one state`() async throws {
    let connectivity: some Connectivity = .alwaysOnline
    var states: [Bool] = []
    for await state in connectivity.changes { states.append(state) }
    #expect(connectivity.isOnline)
    #expect(states == [true])
    try await connectivity.waitUntilOnline()
  }

  @Test func `a task waits for the state online`() async throws {
    let connectivity = ManualConnectivity(isOnline: false)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await connectivity.waitUntilOnline() }
      connectivity.isOnline = true
      try await group.waitForAll()
    }
    #expect(connectivity.isOnline)
  }

  @Test func `a cancelled wait for the state online throws`() async {
    let connectivity = ManualConnectivity(isOnline: false)
    let task = Task { try await connectivity.waitUntilOnline() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
