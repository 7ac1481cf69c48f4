import Coherence

/// A class with the members that `@Entity` writes, and with the accessors of a class without the macro for the same
/// properties.
final class DialObject: ManagedObject {
  var number: Int {
    get { self[Properties.table.number] }
    set { self[Properties.table.number] = newValue }
  }
  var name: String {
    get { self[Properties.table.name] }
    set { self[Properties.table.name] = newValue }
  }
  struct Properties: EntityProperties {
    static let table = Properties()
    let number = AttributeKey<Int>("number")
    let name = AttributeKey<String>("name")
  }
  static var entityName: String { "Dial" }
  static var entityDeclaration: Entity {
    Entity(entityName, class: DialObject.self) {
      Attribute("number", .int64, default: 1)
      Attribute("name", .string, default: "dial")
    }
  }

  private static let numberKey = AttributeKey<Int>("number")
  private static let nameKey = AttributeKey<String>("name")
  var numberByKey: Int {
    get { self[Self.numberKey] }
    set { self[Self.numberKey] = newValue }
  }
  var nameByKey: String {
    get { self[Self.nameKey] }
    set { self[Self.nameKey] = newValue }
  }
}

extension DialObject: DeclaredEntity {}

extension DialObject {
  /// Passes 64 saved objects to the work in turn, repeatedly.
  static func sample(_ count: Int, _ work: (DialObject, Int) -> Int) throws -> Sample {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(DialObject.self))
    try coordinator.addPersistentStore(type: .inMemory)
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    return try context.performAndWait {
      let objects = try (0..<64).map { _ in try DialObject(context: context) }
      try context.save()
      return Stopwatch.sample {
        var sum = 0
        for index in 0..<count { sum &+= work(objects[index & 63], index) }
        return (UInt64(bitPattern: Int64(sum)), sum)
      }
    }
  }
}
