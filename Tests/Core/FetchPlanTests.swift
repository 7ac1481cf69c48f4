import Testing

@testable import CoherenceCore

@Suite struct FetchPlanTests {
  private let coordinator: PersistentStoreCoordinator
  private let context: ManagedObjectContext
  private let leaves = FetchRequest<ManagedObject>(entityName: "Leaf")

  init() throws {
    coordinator = try PersistentStoreCoordinator(inMemory: NodeModel.make(deleteRule: .cascade))
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  private func plan(_ request: FetchRequest<ManagedObject>) throws -> FetchPlan {
    try FetchPlan(
      request, in: coordinator, current: context.current, unsaved: UnsavedHierarchies(in: context))
  }

  /// A saved node with three leaves.
  private func makeNode() throws -> ManagedObject {
    let node = try context.insertNewObject(forEntityName: "Node")
    for number in 0..<3 {
      let leaf = try context.insertNewObject(forEntityName: "Leaf")
      try leaf.setValue("\(number)", for: "name")
      try leaf.setObject(node, for: "node")
    }
    try context.save()
    return node
  }

  @Test func `planning a fetch runs no delete rule, and the fetch itself runs it`() throws {
    try context.performAndWait {
      context.delete(try makeNode())
      let before = try plan(leaves)
      #expect(!before.needsOverlay)
      #expect(context.storage.pendingRules.objects.count == 1)
      #expect(try context.fetch(leaves).isEmpty)
      #expect(context.storage.pendingRules.objects.isEmpty)
      #expect(try plan(leaves).needsOverlay)
    }
  }

  @Test func `a fetch plan does not change with its context`() throws {
    try context.performAndWait {
      let node = try makeNode()
      var request = leaves
      request.predicate = .comparison(
        .path(PropertyPath("node.name")), .equal, .value(.string("oak")))
      let before = try plan(request)
      try node.setValue("oak", for: "name")
      #expect(!before.dependsOnUnsaved)
      #expect(try plan(request).dependsOnUnsaved)
    }
  }

  @Test func `a count does not evaluate the order`() throws {
    try context.performAndWait {
      _ = try makeNode()
      _ = try context.insertNewObject(forEntityName: "Leaf")
      var request = leaves
      request.sortKeys = [SortKey("node.name")]
      request.fetchOffset = 1
      #expect(try !plan(request).isMergeable)
      #expect(try plan(request).unordered().isMergeable)
      #expect(try context.count(for: request) == 3)
    }
  }

  @Test func `counting off the range record by record returns the same records as slicing the whole list`() {
    let all = Array(0..<6)
    for offset in 0...7 {
      for limit in [nil, 0, 1, 3, 6, 9, .max] as [Int?] {
        var range = FetchRange(offset: offset, limit: limit)
        let cut = Array(range.part(of: all))
        #expect(all.filter { _ in range.includesNext() } == cut, "offset \(offset), limit \(limit ?? -1)")
        #expect(cut == Array(all.dropFirst(offset).prefix(limit ?? .max)), "offset \(offset), limit \(limit ?? -1)")
      }
    }
  }
}
