import CoherenceInMemory
import CoherenceModelMacros
import Testing

@Entity final class Tag: ManagedObject {
  @Attribute(.codable) var words: Set<String>
  var uses: Int
}

/// Snapshots with a set, which has no order and so has many texts.
@Suite struct CodedSetTests {
  @Test func `an unchanged set is not written when its snapshot is applied`() throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(Tag.self))
    try coordinator.addPersistentStore(type: .inMemory)
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    try context.performAndWait {
      let tag = try context.insert(Tag.Snapshot(words: Set((0..<100).map { "\($0)" }), uses: 0))
      try context.save()
      var values = try tag.snapshot()
      try tag.apply(values)
      #expect(!tag.hasChanges)
      values.words.insert("last")
      try tag.apply(values)
      #expect(tag.words.count == 101 && tag.changedValues().keys.sorted() == ["words"])
    }
  }
}
