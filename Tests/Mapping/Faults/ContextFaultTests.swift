import CoherenceCore
import CoherenceMapping
import CoherenceStrategies
import Foundation
import Synchronization
import Testing
import TestSupport

@Suite("Faults of contexts")
struct ContextFaultTests {
  @MainActor @Test(arguments: Backend.available)
  func `fault: objects of the main context were stale after a save`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, [.banana, .mango])
    let kept: [GroceryRecord] = try inline { try stack.manager.fetchRecords(sortDescriptors: [SortKey("id")]) }
    #expect(kept[0].managedObjectContext === stack.manager.mainContext)
    var banana = GroceryProduct.banana
    banana.points = 7
    try inline { try stack.manager.save(entity: GroceryRecord.self, models: [banana], shouldOverwrite: true) }
    // Entering the context processes its inbox, as each fetch does.
    #expect(try inline { try stack.manager.count(entity: GroceryRecord.self) } == 1)
    #expect(kept[0].points == 7 && kept[1].managedObjectContext == nil)
  }

  @Test(arguments: Backend.available)
  func `fault: a second fetch did not refresh objects of a thread's context`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, [.banana])
    let kept: [GroceryRecord] = try stack.manager.fetchRecords()
    try stack.change("1") { $0.points = 7 }
    let again: [GroceryRecord] = try stack.manager.fetchRecords()
    #expect(again[0] === kept[0] && kept[0].points == 7)
  }

  @Test func `fault: objects of a thread's context missed saves and deletions`() throws {
    let stack = try MappingStack()
    try stack.insert(GroceryRecord.self, [.banana, .mango])
    let worker = stack.manager.workerContext
    let kept: [GroceryRecord] = try stack.manager.fetchRecords(sortDescriptors: [SortKey("id")])
    // The worker was made before the thread's context, the context of `delete` after it.
    try worker.performAndWait {
      try worker.fetch(FetchRequest(GroceryRecord.self).filter(.id("1"))).first?.points = 7
      try worker.save()
    }
    try stack.manager.delete(entity: GroceryRecord.self, uid: "4")
    stack.manager.contextForThread().performAndWait {}
    #expect(kept[0].points == 7 && kept[1].isDeleted)
  }

  @Test func `fault: a second manager got the first manager's context on a thread`() throws {
    let (first, second) = (try MappingStack(), try MappingStack())
    let model = first.manager.container.managedObjectModel
    #expect(first.manager.contextForThread() !== second.manager.contextForThread())
    #expect(first.manager.contextForThread().persistentStoreCoordinator?.managedObjectModel === model)
    #expect(second.manager.contextForThread().persistentStoreCoordinator?.managedObjectModel !== model)
    try first.insert(GroceryRecord.self, [.banana])
    try second.insert(GroceryRecord.self, [.mango])
    let (ours, theirs): ([GroceryRecord], [GroceryRecord]) =
      try (first.manager.fetchRecords(), second.manager.fetchRecords())
    #expect(ours.map(\.name) == ["Banana"] && theirs.map(\.name) == ["Mango"])
  }

  @Test func `fault: contexts of threads used destroyed stores`() throws {
    let stack = try MappingStack(.sqlite)
    let former = stack.manager.contextForThread()
    let worker = stack.manager.workerContext
    try stack.manager.destroy()
    try stack.insert(GroceryRecord.self, [.banana])
    #expect(stack.manager.contextForThread() !== former)
    for context in [former, worker, stack.manager.contextForThread()] {
      let records: [GroceryRecord] = try stack.manager.fetchRecords(context: context)
      #expect(context.performAndWait { records.map(\.name) } == ["Banana"])
    }
  }

  @Test func `fault: the context of a thread outlived the thread`() throws {
    let stack = try MappingStack()
    let hold = Hold()
    try onThread { [manager = stack.manager] in hold.take(manager.contextForThread()) }
    #expect(hold.isEmpty)
  }

  @Test func `fault: the context of a thread outlived its manager`() throws {
    let hold = Hold()
    var stack: MappingStack? = try MappingStack()
    hold.take(try #require(stack).manager.contextForThread())
    #expect(!hold.isEmpty)
    stack = nil
    #expect(hold.isEmpty && stack == nil)
  }

  @Test func `fault: using a thread's record on another thread was not reported`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      ProcessLimit.begin()
      let stack = try MappingStack()
      try stack.insert(GroceryRecord.self, [.banana])
      try inline {
        let records = Lent(try stack.manager.fetchRecords() as [GroceryRecord])
        try onThread { records.value.first?.points = 7 }
      }
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("belongs to a thread"))
  }

  @Test func `fault: a task could use the context of a thread`() async throws {
    let manager = try MappingStack().manager
    let context = inline { manager.contextForThread() }
    let error = await #expect(throws: CoherenceError.self) { try await context.perform {} }
    #expect(error?.code == .wrongContext)
    let told = Mutex<(any Error)?>(nil)
    context.perform(onError: { error in told.withLock { $0 = error } }) {}
    #expect((told.withLock { $0 } as? CoherenceError)?.code == .wrongContext)
  }
}

/// Observes a context without retaining it.
private final class Hold: Sendable {
  private struct Reference { weak var context: ManagedObjectContext? }
  private let reference = Mutex(Reference())

  func take(_ context: ManagedObjectContext) { reference.withLock { $0.context = context } }

  var isEmpty: Bool { reference.withLock { $0.context == nil } }
}

/// Moves records to a thread where they must not be used.
private struct Lent: @unchecked Sendable {
  // Sendable: not true; the test is about this misuse.
  let value: [GroceryRecord]
  init(_ value: [GroceryRecord]) { self.value = value }
}
