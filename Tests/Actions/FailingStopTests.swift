import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceStrategies
import Synchronization
import TestSupport
import Testing

@Suite("Stops that cannot detach a store")
struct FailingStopTests {
  /// Removes the remaining stores from the coordinator, without the Connect, once a stop has detached the first one.
  private final class Intruder: Sendable {
    private let coordinator = Mutex<PersistentStoreCoordinator?>(nil)

    func watch(_ coordinator: PersistentStoreCoordinator) { self.coordinator.withLock { $0 = coordinator } }

    func intrude() {
      guard let coordinator = coordinator.withLock({ $0.take() }) else { return }
      for store in coordinator.persistentStores { try? coordinator.remove(store) }
    }
  }

  private let intruder = Intruder()
  private let connect: TestConnect

  init() throws {
    let log = MessageLog { [intruder] in if $0 == "Detached a store." { intruder.intrude() } }
    connect = TestConnect(name: "Failing", managedObjectModel: ConnectModels.main, logger: log.logger)
    for _ in 0..<2 { try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory)) }
    try connect.start()
    intruder.watch(connect.persistentStoreCoordinator)
  }

  @Test func `a stop that cannot detach a store fails, and stops the Connect nevertheless`() async throws {
    let error = await #expect(throws: CoherenceError.self) { try await connect.stop() }
    #expect(error?.code == .storeDetached)
    #expect(connect.state == .stopped)
    try await connect.start()
    #expect(connect.persistentStoreCoordinator.persistentStores.count == 2)
    try await connect.stop()
  }

  @Test func `a blocking stop that cannot detach a store fails`() {
    let error = #expect(throws: CoherenceError.self) { try connect.stop(.drain) }
    #expect(error?.code == .storeDetached)
  }

  @Test func `every caller that joins a failing stop gets the error`() async throws {
    let script = MockScript(waits: true)
    try connect.execute(MockGenericAction(script: script))
    await script.untilBegun()
    let (errors, continuation) = AsyncStream<ErrorCode?>.makeStream()
    // The blocks are registered in this order, before the action ends.
    for _ in 0..<3 { connect.stop(.drain) { continuation.yield(($0 as? CoherenceError)?.code) } }
    script.release()
    var codes: [ErrorCode?] = []
    for await code in errors {
      codes.append(code)
      if codes.count == 3 { break }
    }
    #expect(codes == [.storeDetached, .storeDetached, .storeDetached])
  }
}
