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

  @Test func `the deinit block is called when the last reference goes`() {
    var context: BackgroundContext? = BackgroundContext()
    let counter = CallCounter()
    context?.deinitBlock = { counter.increment() }
    #expect(counter.count == 0)
    context = nil
    #expect(counter.count == 1)
  }

  @Test func `a context without a deinit block goes as quietly`() {
    var context: BackgroundContext? = BackgroundContext()
    weak let reference = context
    context = nil
    #expect(reference == nil)
  }

  @Test func `a container makes contexts of any kind`() throws {
    let container = GenericPersistentContainer<ContextStrategy.Direct>(
      name: "Kinds", managedObjectModel: ContainerModels.users)
    let context: ImportContext = container.newGenericBackgroundContext()
    #expect(context.concurrencyType == .privateQueue)
    #expect(context.persistentStoreCoordinator === container.persistentStoreCoordinator)
  }

  @Test func `a block that throws throws out of a context`() {
    let context = BackgroundContext()
    #expect(throws: TestError.self) { try context.performAndWait { throw TestError() } }
  }

  @Test func `a block that nobody waits for tells its handler of an error`() async {
    let context = BackgroundContext()
    let error = await withCheckedContinuation { continuation in
      context.perform(onError: { continuation.resume(returning: $0) }) { throw TestError() }
    }
    #expect(error is TestError)
  }
}

/// A kind of context that an application makes.
final class ImportContext: BackgroundContext, @unchecked Sendable {
  // Sendable: as the base class is; it adds nothing.
}

struct TestError: Error {}

final class CallCounter: Sendable {
  private let calls = Atomic<Int>(0)
  var count: Int { calls.load(ordering: .sequentiallyConsistent) }
  func increment() { calls.add(1, ordering: .sequentiallyConsistent) }
}
