import TestRandom
import Testing

@testable import CoherenceCore

/// Fetches by value among many unsaved records, which an index finds. A dictionary of the names has the expected
/// results.
@Suite("The index of unsaved records")
struct UnsavedIndexTests {
  private let context: ManagedObjectContext

  init() throws {
    let model = try ManagedObjectModel { Entity("Item") { Attribute("name", .string, optional: true) } }
    context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
  }

  private static let names: [String?] = ["one", "two", "three", "four", "five", nil]

  private func fetched(_ names: Set<String>) throws -> Set<ManagedObject> {
    let name = FetchExpression.path(PropertyPath("name"))
    let predicate =
      names.count == 1
      ? FetchPredicate.comparison(name, .equal, .value(.string(names.first!)))
      : FetchPredicate.membership(name, in: names.map(AttributeValue.string))
    let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: "Item").filter(predicate))
    #expect(Set(objects).count == objects.count, "A fetch returned an object twice.")
    return Set(objects)
  }

  /// The number of unsaved records that a fetch visits.
  private func visitedCount(_ request: FetchRequest<ManagedObject>, in context: ManagedObjectContext) throws -> Int {
    try context.reading(request) { plan in
      try context.unsavedStates(for: plan).present.reduce(0) { count, _ in count + 1 }
    }
  }

  private func checkInvariants() {
    context.storage.checkInvariants()
    context.storage.registry.checkInvariants()
    context.storage.retainedReads.checkInvariants()
  }

  /// All objects with their names.
  private func allObjects() throws -> [ManagedObject: String?] {
    var names: [ManagedObject: String?] = [:]
    for object in try context.fetch(FetchRequest<ManagedObject>(entityName: "Item")) {
      let name = try object.value(for: "name", as: String?.self)
      names[object] = .some(name)
    }
    return names
  }

  @Test func `a record that stays tracked over a save of deletes is found by its identifier`() throws {
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: context)
    let id = try context.performAndWait {
      let (first, second) = (
        try context.insertNewObject(forEntityName: "Item"), try context.insertNewObject(forEntityName: "Item")
      )
      try context.save()
      try first.setValue("one", for: "name")
      try first.setValue(nil, for: "name")
      context.delete(second)
      try context.save()
      try first.setValue("two", for: "name")
      checkInvariants()
      return first.objectID
    }
    let name = try child.performAndWait { try child.existingObject(with: id).value(for: "name", as: String?.self) }
    #expect(name == "two")
  }

  @Test(arguments: SeededRandom.seeds)
  func `a fetch by name returns the objects with the name after thousands of unsaved changes`(seed: UInt64) throws {
    print("COHERENCE_SEED=\(seed)")
    try context.performAndWait {
      var random = SeededRandom(seed: seed)
      var current: [ManagedObject: String?] = [:]
      var saved: [String] = []
      for _ in 0..<2_000 {
        let name = Self.names.randomElement(using: &random)!
        let object = current.keys.randomElement(using: &random)
        switch (Int.random(in: 0..<1_000, using: &random), object) {
        case (0..<400, _), (_, nil):
          let fresh = try context.insertNewObject(forEntityName: "Item")
          try fresh.setValue(name, for: "name")
          current[fresh] = .some(name)
        case (400..<700, let object?):
          try object.setValue(name, for: "name")
          current[object] = .some(name)
        case (700..<980, let object?):
          context.delete(object)
          current[object] = nil
        case (980..<985, _):
          try context.save()
          saved = current.values.map { $0 ?? "" }.sorted()
        case (985..<987, _):
          context.rollback()
          current = try allObjects()
          #expect(current.values.map { $0 ?? "" }.sorted() == saved)
        default:
          // Many changes at once, so that most entries of the index are out of date.
          for object in current.keys {
            try object.setValue(name, for: "name")
            current[object] = .some(name)
          }
        }
        let wanted = Set(Self.names.compactMap { $0 }.shuffled(using: &random).prefix(random.isTrue(0.5) ? 1 : 2))
        let expected = current.filter { $0.value.map(wanted.contains) == true }.map(\.key)
        #expect(try fetched(wanted) == Set(expected))
        if random.isTrue(0.1) { checkInvariants() }
      }
    }
  }

  /// Otherwise the cost of an import that fetches each record by its key would grow with the square of the number of
  /// records.
  @Test(arguments: [100, 2_000])
  func `a look-up by a key of two attributes finds the records of the rarer value, however many have the other value`(
    count: Int
  ) throws {
    let model = try ManagedObjectModel {
      Entity("Order") {
        Attribute("shop", .string, optional: true)
        Attribute("number", .int64, optional: true)
      }
    }
    let coordinator = try PersistentStoreCoordinator(inMemory: model)
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    let entity = try coordinator.managedObjectModel.entity(named: "Order")
    let shop = try #require(entity.attribute(named: "shop")).slot
    let number = try #require(entity.attribute(named: "number")).slot
    try context.performAndWait {
      var request = FetchRequest<ManagedObject>(entityName: "Order")
      for key in 0..<count {
        request.predicate = try FetchPredicate(format: "shop == 'central' AND number == \(key)")
        #expect(try context.fetch(request).isEmpty)
        let order = try context.insertNewObject(forEntityName: "Order")
        try order.setValue("central", for: "shop")
        try order.setValue(Int64(key), for: "number")
      }
      let found = context.storage.withPending {
        context.storage.unsavedRecords(
          of: entity,
          with: [
            WantedValues(slot: shop, values: [.string("central")]), WantedValues(slot: number, values: [.int(7)]),
          ])
      }
      #expect(found.count == 1)
      request.predicate = try FetchPredicate(format: "shop == 'central' AND number == 7")
      #expect(try context.fetch(request).count == 1)
    }
  }

  /// Otherwise an import that fetches each record by its key would visit all inserted records at each step.
  @Test func `a fetch by a text visits the unsaved records with the text alone`() throws {
    try context.performAndWait {
      for number in 0..<200 {
        try context.insertNewObject(forEntityName: "Item").setValue("\(number % 100)", for: "name")
      }
      let visited = try visitedCount(
        FetchRequest<ManagedObject>(entityName: "Item")
          .filter(.comparison(.path(PropertyPath("name")), .equal, .value(.string("7")))), in: context)
      #expect(visited == 2)
      #expect(try fetched(["7"]).count == 2)
    }
  }

  // MARK: References

  private func contents(of shelf: ManagedObjectID) -> FetchRequest<ManagedObject> {
    FetchRequest<ManagedObject>(entityName: "Book")
      .filter(.comparison(.path(PropertyPath("shelf")), .equal, .value(.reference(shelf))))
  }

  /// Otherwise an import that fetches the records of each owner would visit all inserted records at each step.
  @Test func `a fetch by a reference visits the unsaved records with the reference alone, and follows each change`()
    throws
  {
    let model = try ManagedObjectModel {
      Entity("Shelf") { Relationship("books", toMany: "Book", inverse: "shelf") }
      Entity("Book") { Relationship("shelf", toOne: "Shelf", inverse: "books") }
    }
    let context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: context)
    try context.performAndWait {
      let (full, empty) = (
        try context.insertNewObject(forEntityName: "Shelf"), try context.insertNewObject(forEntityName: "Shelf")
      )
      let books = try (0..<200).map { _ in
        let book = try context.insertNewObject(forEntityName: "Book")
        try book.setObject(full, for: "shelf")
        return book
      }
      let former = empty.objectID
      #expect(try context.fetch(contents(of: former)).isEmpty)
      try books[7].setObject(empty, for: "shelf")
      #expect(try context.fetch(contents(of: former)) == [books[7]])
      #expect(try context.count(for: contents(of: former)) == 1)
      let visited = try visitedCount(contents(of: former), in: context)
      #expect(visited == 1)
      try context.obtainPermanentIDs(for: [empty])
      #expect(try context.fetch(contents(of: former)) == [books[7]])
      #expect(try context.fetch(contents(of: empty.objectID)) == [books[7]])
      try context.save()
      for book in books.dropFirst(8) { try book.setObject(empty, for: "shelf") }
      #expect(try Set(context.fetch(contents(of: former))) == Set(books.dropFirst(7)))
      #expect(try Set(context.fetch(contents(of: full.objectID))) == Set(books.prefix(7)))
      #expect(try context.count(for: contents(of: full.objectID)) == 7)
      context.delete(empty)
      #expect(try context.fetch(contents(of: former)).isEmpty)
      context.storage.checkInvariants()
    }
    try child.performAndWait {
      let full = try child.fetch(FetchRequest<ManagedObject>(entityName: "Shelf"))[0].objectID
      #expect(try child.fetch(contents(of: full)).count == 7)
    }
  }
}
