import Testing

@testable import CoherenceCore

/// The objects that a context retains during a walk over relationships.
@Suite struct WalkMemoryTests {
  private let context: ManagedObjectContext

  private final class Leaf: ManagedObject {}

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Node") {
        Attribute("name", .string)
        Relationship("leaves", toMany: "Leaf", inverse: "node")
      }
      Entity("Leaf", class: Leaf.self) {
        Attribute("name", .string)
        Relationship("node", toOne: "Node", inverse: "leaves")
      }
    }
    context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
  }

  private func fill(nodes: Int, leaves: Int) throws {
    let writer = ManagedObjectContext(
      concurrencyType: .privateQueue, coordinator: try #require(context.persistentStoreCoordinator))
    try writer.performAndWait {
      for number in 0..<nodes {
        let node = try writer.insertNewObject(forEntityName: "Node")
        try node.setValue("\(number)", for: "name")
        for index in 0..<leaves {
          let leaf = try writer.insertNewObject(forEntityName: "Leaf")
          try leaf.setValue("\(number)-\(index)", for: "name")
          try leaf.setObject(node, for: "node")
        }
      }
      try writer.save()
    }
  }

  private func nodes() throws -> [ManagedObject] { try context.fetch(FetchRequest(entityName: "Node")) }

  @Test func `a walk over more records than a context retains has a bounded number of objects at any time`() throws {
    // More leaves than the limit of the expectation, so that a context that retains all of them fails.
    let (count, leaves) = (14_000, 5)
    try fill(nodes: count, leaves: leaves)
    try context.performAndWait {
      var (most, found) = (0, 0)
      for (index, node) in try nodes().enumerated() {
        found += try node.objects(for: "leaves").count
        if index.isMultiple(of: 500) { most = max(most, context.registeredObjects.count - count) }
      }
      #expect(found == count * leaves)
      #expect(most <= RetainedReads.limit + 2 * ManagedObjectContext.rowBudget)
      #expect(found - 500 * leaves > RetainedReads.limit + 2 * ManagedObjectContext.rowBudget)
    }
  }

  @Test func `a walk over owners with many members reads no more members together than the budget`() throws {
    // A read for 64 owners would return 19,200 members.
    try fill(nodes: 70, leaves: 300)
    try context.performAndWait {
      for node in try nodes() {
        #expect(try node.objects(for: "leaves").count == 300)
        #expect(context.registeredObjects.count <= 70 + 300 + RetainedReads.limit + ManagedObjectContext.rowBudget)
      }
    }
  }

  @Test func `objects that a unit of work has read are released at its end`() throws {
    try fill(nodes: 10, leaves: 10)
    try context.performAndWait {
      for node in try nodes() { _ = try node.objects(for: "leaves") }
      #expect(context.registeredObjects.contains { $0 is Leaf })
    }
    context.performAndWait { #expect(context.registeredObjects.isEmpty) }
  }

  @Test func `a context released in the middle of a walk releases its objects`() throws {
    try fill(nodes: 2, leaves: 2)
    weak var leaf: ManagedObject?
    try {
      let context = ManagedObjectContext(
        concurrencyType: .currentThread, coordinator: try #require(self.context.persistentStoreCoordinator))
      let node = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Node")).first)
      leaf = try node.objects(for: "leaves").first
      #expect(leaf != nil)
    }()
    #expect(leaf == nil)
  }

  @Test func `a deleted object is not returned from the retained reads`() throws {
    try fill(nodes: 1, leaves: 2)
    try context.performAndWait {
      let node = try #require(try nodes().first)
      let leaf = try #require(try node.objects(for: "leaves").first)
      let id = leaf.objectID
      context.delete(leaf)
      try context.save()
      #expect(context.registeredObject(with: id) == nil)
      #expect(try node.objects(for: "leaves").count == 1)
      #expect(throws: CoherenceError.self) { try context.existingObject(with: id) }
    }
  }

  @Test func `objects inserted during a walk are found after their save by their new identifiers`()
    throws
  {
    try fill(nodes: 1, leaves: 0)
    try context.performAndWait {
      let node = try #require(try nodes().first)
      let leaf = try context.insertNewObject(forEntityName: "Leaf")
      try leaf.setValue("fresh", for: "name")
      try leaf.setObject(node, for: "node")
      #expect(try node.objects(for: "leaves") == [leaf])
      try context.save()
      #expect(try node.objects(for: "leaves") == [leaf])
      #expect(context.object(with: leaf.objectID) === leaf)
    }
  }
}
