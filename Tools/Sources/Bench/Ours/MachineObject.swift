import Coherence

/// An entity with subentities, for the lookups of property keys.
final class MachineObject: ManagedObject {
  static let numberKey = AttributeKey<Int>("number")
  static let partsKey = ToManyKey<ManagedObject>("parts")
  var number: Int { self[Self.numberKey] }
  var parts: ToMany<ManagedObject> { self[Self.partsKey] }

  /// Reads from 64 inserted objects of some entities in turn.
  static func sample(_ entities: [String], _ count: Int, _ read: (MachineObject) -> Int) throws -> Sample {
    let model = try ManagedObjectModel {
      Entity("Machine", class: MachineObject.self) {
        Attribute("number", .int64, default: 1)
        Relationship("parts", toMany: "Part", inverse: nil)
      }
      Entity("Saw", class: MachineObject.self, parent: "Machine") { Attribute("teeth", .int64, optional: true) }
      Entity("ChainSaw", class: MachineObject.self, parent: "Saw") { Attribute("fuel", .double, optional: true) }
      Entity("Drill", class: MachineObject.self, parent: "Machine") { Attribute("speed", .int64, optional: true) }
      Entity("Part") { Attribute("name", .string, optional: true) }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .inMemory)
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    return try context.performAndWait {
      let objects = try (0..<64).compactMap { number in
        try context.insertNewObject(forEntityName: entities[number % entities.count]) as? MachineObject
      }
      try context.save()
      return Stopwatch.sample {
        var sum = 0
        for index in 0..<count { sum &+= read(objects[index & 63]) }
        return (0, sum)
      }
    }
  }
}
