import CoherenceInMemory
import Dispatch
import Testing

@testable import CoherenceCore

/// The objects that contexts used without `perform` retain during a walk: on the main actor, and on a thread.
@Suite struct DirectWalkTests {
  private let options: [String: OptionValue] = [
    InMemoryOption.sharedName: .string("walk \(UInt64.random(in: 0...(.max)))")
  ]
  private let model: ManagedObjectModel

  init() throws {
    model = try NodeModel.make()
  }

  private func coordinator() throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .inMemory, options: options)
    return coordinator
  }

  private func fill(_ coordinator: PersistentStoreCoordinator) throws {
    let context = ManagedObjectContext(coordinator: coordinator)
    try context.performAndWait {
      for number in 0..<10 {
        let node = try context.insertNewObject(forEntityName: "Node")
        try node.setValue("\(number)", for: "name")
        for _ in 0..<3 { try context.insertNewObject(forEntityName: "Leaf").setObject(node, for: "node") }
      }
      try context.save()
    }
  }

  private func renameNodes(to name: String, in coordinator: PersistentStoreCoordinator) throws {
    let context = ManagedObjectContext(coordinator: coordinator)
    try context.performAndWait {
      for node in try context.fetch(FetchRequest<ManagedObject>(entityName: "Node")) {
        try node.setValue(name, for: "name")
      }
      try context.save()
    }
  }

  private func leaf(_ context: ManagedObjectContext) throws -> ManagedObject {
    try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Leaf")).first)
  }

  private func nodeName(of leaf: ManagedObject) throws -> String? { try leaf.object(for: "node")?.value(for: "name") }

  private func nodeCount(_ context: ManagedObjectContext) -> Int {
    context.registeredObjects.count { $0.entity.name == "Node" }
  }

  // MARK: A thread

  @Test func `a thread's context retains a target until its next fetch`() throws {
    let coordinator = try coordinator()
    try fill(coordinator)
    let context = ManagedObjectContext(concurrencyType: .currentThread, coordinator: coordinator)
    let leaf = try leaf(context)
    _ = try nodeName(of: leaf)
    #expect(nodeCount(context) > 0)
    _ = try context.fetch(FetchRequest<ManagedObject>(entityName: "Leaf"))
    #expect(nodeCount(context) == 0)
  }

  @Test func `a thread's context sees the values that another context has saved, without a fetch`() throws {
    let coordinator = try coordinator()
    try fill(coordinator)
    let context = ManagedObjectContext(concurrencyType: .currentThread, coordinator: coordinator)
    let leaf = try leaf(context)
    _ = try nodeName(of: leaf)
    try renameNodes(to: "new", in: coordinator)
    #expect(try nodeName(of: leaf) == "new")
  }

  @Test func `a thread's context sees the values that another process has saved, after its next fetch`() throws {
    let coordinator = try coordinator()
    try fill(coordinator)
    let context = ManagedObjectContext(concurrencyType: .currentThread, coordinator: coordinator)
    let leaf = try leaf(context)
    _ = try nodeName(of: leaf)
    try renameNodes(to: "new", in: try self.coordinator())
    _ = try context.fetch(FetchRequest<ManagedObject>(entityName: "Leaf"))
    #expect(try nodeName(of: leaf) == "new")
  }

  @Test func `members read in a batch with a neighbour's members are read again after a save`() throws {
    let coordinator = try coordinator()
    try fill(coordinator)
    let context = ManagedObjectContext(concurrencyType: .currentThread, coordinator: coordinator)
    let nodes = try context.fetch(FetchRequest<ManagedObject>(entityName: "Node"))
    #expect(try nodes[0].objects(for: "leaves").count == 3)
    let writer = ManagedObjectContext(coordinator: coordinator)
    let id = nodes[1].objectID
    try writer.performAndWait {
      try writer.insertNewObject(forEntityName: "Leaf").setObject(try writer.existingObject(with: id), for: "node")
      try writer.save()
    }
    #expect(try nodes[1].objects(for: "leaves").count == 4)
  }

  // MARK: The main actor

  /// Waits for the end of the present turn of the main queue.
  @MainActor private func turn() async {
    await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
  }

  @MainActor @Test func `the main actor's context retains a target for the turn of the main queue`() async throws {
    let coordinator = try coordinator()
    try fill(coordinator)
    let context = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: coordinator)
    let leaf = try leaf(context)
    _ = try nodeName(of: leaf)
    #expect(nodeCount(context) > 0)
    await turn()
    #expect(nodeCount(context) == 0)
    try renameNodes(to: "new", in: try self.coordinator())
    #expect(try nodeName(of: leaf) == "new")
  }

  @MainActor @Test func `the main actor's context sees in the same turn the values that another context has saved`()
    throws
  {
    let coordinator = try coordinator()
    try fill(coordinator)
    let context = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: coordinator)
    let leaf = try leaf(context)
    _ = try nodeName(of: leaf)
    try renameNodes(to: "new", in: coordinator)
    #expect(try nodeName(of: leaf) == "new")
  }
}
