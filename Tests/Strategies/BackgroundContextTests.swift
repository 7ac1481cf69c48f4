import CoherenceCore
import CoherenceStrategies
import Synchronization
import Testing

@Suite("Background contexts")
struct BackgroundContextTests {
  @Test func `a background context can be made without a coordinator`() {
    let context = BackgroundContext(concurrencyType: .privateQueue)
    #expect(context.persistentStoreCoordinator == nil)
    #expect(context.concurrencyType == .privateQueue)
  }

  @Test func `the deinit block is called at the release of the last reference`() {
    var context: BackgroundContext? = BackgroundContext()
    let counter = CallCounter()
    context?.deinitBlock = { counter.increment() }
    #expect(counter.count == 0)
    context = nil
    #expect(counter.count == 1)
  }

  @Test func `a context without a deinit block is released without a call`() {
    var context: BackgroundContext? = BackgroundContext()
    weak let reference = context
    context = nil
    #expect(reference == nil)
  }

  @Test func `a container makes contexts of any subclass`() throws {
    let container = GenericPersistentContainer<ContextStrategy.Direct>(
      name: "Kinds", managedObjectModel: ContainerModels.users)
    let context: ImportContext = container.newGenericBackgroundContext()
    #expect(context.concurrencyType == .privateQueue)
    #expect(context.persistentStoreCoordinator === container.persistentStoreCoordinator)
  }

  @Test func `perform rethrows the error of its block`() {
    let context = BackgroundContext()
    #expect(throws: TestError.self) { try context.performAndWait { throw TestError() } }
  }

  @Test func `the error handler of a block without an awaiting caller receives its error`() async {
    let context = BackgroundContext()
    let error = await withCheckedContinuation { continuation in
      context.perform(onError: { continuation.resume(returning: $0) }) { throw TestError() }
    }
    #expect(error is TestError)
  }
}

/// A subclass of an application.
final class ImportContext: BackgroundContext, @unchecked Sendable {
  // Sendable: as the base class is; it adds nothing.
}

struct TestError: Error {}

final class CallCounter: Sendable {
  private let calls = Atomic<Int>(0)
  var count: Int { calls.load(ordering: .sequentiallyConsistent) }
  func increment() { calls.add(1, ordering: .sequentiallyConsistent) }
}
