import CoherenceCore
import CoherenceMapping
import Dispatch
import Synchronization
import Testing

@Suite("Saving contexts")
struct SaveChangesBehaviourTests {
  private let stack: MappingStack

  init() throws { stack = try MappingStack() }

  private func stored() throws -> [GroceryProduct] {
    try stack.makeStranger().fetchModels(entity: GroceryRecord.self)
  }

  private func insert(_ product: GroceryProduct, into context: ManagedObjectContext) throws {
    try context.performAndWait { try GroceryRecord(context: context).fromModel(product) }
  }

  private func save(_ context: ManagedObjectContext) async -> (any Error)? {
    await withCheckedContinuation { continuation in context.saveChanges { continuation.resume(returning: $0) } }
  }

  @Test func `changes are visible in all contexts after both forms of saving`() async throws {
    let context = stack.manager.workerContext
    try insert(.banana, into: context)
    try inline { try context.saveChangesAndWait() }
    #expect(try inline { try stored() } == [.banana])
    try insert(.mango, into: context)
    #expect(await save(context) == nil)
    try insert(.lime, into: context)
    try await context.saveChanges()
    #expect(try Set(inline { try stored() }) == [.banana, .mango, .lime])
  }

  @Test func `saving a child context saves its parents up to the store`() async throws {
    let parent = stack.manager.workerContext
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    try insert(.banana, into: child)
    try inline { try child.saveChangesAndWait() }
    #expect(try inline { try stored() } == [.banana])
    try insert(.mango, into: child)
    #expect(await save(child) == nil)
    try insert(.lime, into: child)
    try await child.saveChanges()
    #expect(try Set(inline { try stored() }) == [.banana, .mango, .lime])
  }

  @MainActor @Test func `saving a child of the main context reaches the store`() async throws {
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.manager.mainContext)
    try insert(.banana, into: child)
    #expect(await save(child) == nil)
    #expect(try inline { try stored() } == [.banana])
  }

  @Test func `a failed save reports its error and saves nothing`() async throws {
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.manager.workerContext)
    try child.performAndWait { _ = try GroceryRecord(context: child) }
    let error = await save(child)
    #expect((error as? CoherenceError)?.code == .validationFailed)
    #expect(throws: CoherenceError.self) { try inline { try child.saveChangesAndWait() } }
    #expect(try inline { try stored() } == [])
  }

  @Test func `a save without changes succeeds`() async throws {
    let context = stack.manager.workerContext
    try inline { try context.saveChangesAndWait() }
    #expect(await save(context) == nil)
    try await context.saveChanges()
  }

  @Test func `executeOnMain runs its block immediately on the main queue, and later elsewhere`() async {
    await MainActor.run {
      let hasRun = Mutex(false)
      DispatchQueue.executeOnMain { hasRun.withLock { $0 = true } }
      #expect(hasRun.withLock { $0 })
    }
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        DispatchQueue.executeOnMain {
          dispatchPrecondition(condition: .onQueue(.main))
          continuation.resume()
        }
      }
    }
  }
}
