import Testing

@testable import CoherenceCore

/// The notes of a context about records with unsaved changes, after the save of these changes.
@Suite struct SavedRecordNotesTests {
  private let coordinator: PersistentStoreCoordinator
  private let writer: ManagedObjectContext
  private let root: ManagedObjectContext

  init() throws {
    coordinator = try PersistentStoreCoordinator(inMemory: NodeModel.make())
    writer = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    root = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  /// Saves nodes with names, and a leaf of the first node.
  private func fill(nodes names: [String]) throws {
    try writer.performAndWait {
      let nodes = try names.map { name in
        let node = try writer.insertNewObject(forEntityName: "Node")
        try node.setValue(name, for: "name")
        return node
      }
      try writer.insertNewObject(forEntityName: "Leaf").setObject(nodes[0], for: "node")
      try writer.save()
    }
  }

  private func leaf(in context: ManagedObjectContext) throws -> ManagedObject {
    try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Leaf")).first)
  }

  private func node(_ name: String, in context: ManagedObjectContext) throws -> ManagedObject {
    var request = FetchRequest<ManagedObject>(entityName: "Node")
    request.predicate = .comparison(.path(PropertyPath("name")), .equal, .value(.string(name)))
    return try #require(try context.fetch(request).first)
  }

  @Test(arguments: [false, true])
  func `the delete of an edited record by another writer is forgotten when a save discards the edit`(
    inChild: Bool
  ) throws {
    try fill(nodes: ["a"])
    let context = inChild ? ManagedObjectContext(concurrencyType: .privateQueue, parent: root) : root
    context.follow(writer)
    context.mergePolicy = .rollback
    try context.performAndWait { try leaf(in: context).setValue("edited", for: "name") }
    try writer.performAndWait {
      writer.delete(try leaf(in: writer))
      try writer.save()
    }
    try context.performAndWait {
      #expect(context.storage.vanished.edited.count == 1)
      try context.save()
      #expect(context.storage.vanished.edited.isEmpty)
    }
  }

  @Test func `a record that two writers have moved is forgotten with its save, beside a record that stays edited`()
    throws
  {
    try fill(nodes: ["a", "b", "c", "d"])
    root.follow(writer)
    root.mergePolicy = .objectTrumps
    try root.performAndWait {
      try leaf(in: root).setObject(try node("b", in: root), for: "node")
      let edited = try node("d", in: root)
      for name in ["e", "d"] { try edited.setValue(name, for: "name") }
    }
    try writer.performAndWait {
      try leaf(in: writer).setObject(try node("c", in: writer), for: "node")
      try writer.save()
    }
    try root.performAndWait {
      #expect(root.storage.unsaved.movedRecords.count == 1)
      try root.save()
      #expect(root.storage.unsaved.movedRecords.isEmpty && root.storage.unsaved.count == 1)
    }
  }

  @Test func `a context without unsaved records has no unsaved deletes`() throws {
    try fill(nodes: ["a"])
    try root.performAndWait {
      root.delete(try leaf(in: root))
      #expect(root.storage.unsaved.hasDeletes)
      try root.save()
      #expect(!root.storage.unsaved.hasDeletes)
    }
  }
}
