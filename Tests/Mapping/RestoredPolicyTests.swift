import CoherenceCore
import CoherenceMapping
import TestSupport
import Testing

/// Saves of marks, which refuse every conflict.
@Suite("Merge policies after saves of marks")
struct RestoredPolicyTests {
  @Test(arguments: [false, true])
  func `a save of marks leaves the merge policies of its context and the parents as they were`(fails: Bool) throws {
    let stack = try MappingStack()
    let manager = stack.manager
    let parent = manager.workerContext
    parent.mergePolicy = .objectTrumps
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    try manager.save(entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true, from: .server())
    func save(_ fruit: Fruit, in context: ManagedObjectContext? = nil) throws {
      try manager.save(
        entity: FruitRecord.self, models: [fruit], shouldOverwrite: false, from: .here, context: context)
    }
    if fails {
      #expect(throws: CoherenceError.self) {
        try FruitRecord.$onChange.withValue({ _ = try? $0.setValue(String?.none, for: "name") }) {
          try manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["1"], context: child)
        }
      }
    } else {
      try save(Fruit(uid: "1", name: "Big durian"), in: child)
    }
    try parent.performAndWait {
      let mango = try #require(try parent.fetch(FetchRequest(FruitRecord.self).filter(.id("3"))).first)
      mango.name = "Mine"
      try save(Fruit(uid: "3", name: "Theirs"))
      try parent.save()
    }
    #expect(try manager.fetchModel(entity: FruitRecord.self, uid: "3")?.name == "Mine")
  }
}
