import CoherenceCore
import CoherenceInMemory
import Synchronization
import Testing

/// Objects with relationships but without a context. Only these tests create objects of this class, and each test
/// counts its own.
private class Piece: ManagedObject {
  @TaskLocal static var counter: Counter?
  static let nameKey = AttributeKey<String>("name")
  static let wholeKey = ToOneKey<Piece>("whole")
  static let partsKey = ToManyKey<Piece>("parts")
  private let counter: Counter?

  var name: String {
    get { self[Self.nameKey] }
    set { self[Self.nameKey] = newValue }
  }
  var whole: Piece? {
    get { self[Self.wholeKey] }
    set { self[Self.wholeKey] = newValue }
  }
  var parts: ToMany<Piece> { self[Self.partsKey] }

  required init(_ birth: borrowing ObjectBirth) {
    counter = Self.counter
    super.init(birth)
    counter?.add(1)
  }

  deinit { counter?.add(-1) }

  /// Counts the living objects.
  final class Counter: Sendable {
    private let number = Atomic<Int>(0)
    var living: Int { number.load(ordering: .relaxed) }
    func add(_ change: Int) { number.add(change, ordering: .relaxed) }
  }
}

@Suite("Objects without a context")
struct UninsertedGraphTests {
  private let model: ManagedObjectModel
  private let counter = Piece.Counter()

  init() throws {
    model = try ManagedObjectModel {
      Entity("Piece", class: Piece.self) {
        Attribute("name", .string)
        Relationship("whole", toOne: "Piece", inverse: "parts")
        Relationship("parts", toMany: "Piece", inverse: "whole")
      }
    }
  }

  private func piece(_ name: String) throws -> Piece {
    let piece = Piece(entity: try model.entity(named: "Piece"), insertInto: nil)
    piece.name = name
    return piece
  }

  @Test func `related objects without a context are released when nothing holds them`() throws {
    try Piece.$counter.withValue(counter) {
      do {
        let whole = try piece("whole")
        for name in ["a", "b"] {
          let part = try piece(name)
          part.whole = whole
          part.parts.insert(try piece("\(name) of \(name)"))
        }
        #expect(counter.living > 0)
        #expect(Set(whole.parts.map(\.name)) == ["a", "b"])
      }
      #expect(counter.living == 0)
    }
  }

  @Test func `an object retains its related objects and theirs`() throws {
    let part = try piece("part")
    do {
      let whole = try piece("whole")
      part.whole = whole
      whole.parts.insert(try piece("sibling"))
    }
    #expect(part.whole?.name == "whole")
    #expect(part.whole?.parts.map(\.name).sorted() == ["part", "sibling"])
    #expect(part.whole === part.whole?.parts.first { $0.name == "sibling" }?.whole)
  }

  @Test func `joined groups of related objects live as long as any of their objects is held`() throws {
    let first = try piece("first")
    do {
      let groups = try ["a", "b", "c"].map { name in
        let whole = try piece(name)
        for number in 1...3 { whole.parts.insert(try piece("\(name)\(number)")) }
        return whole
      }
      for group in groups { first.parts.insert(group) }
    }
    #expect(
      first.parts.flatMap(\.parts).map(\.name).sorted() == ["a1", "a2", "a3", "b1", "b2", "b3", "c1", "c2", "c3"])
  }

  @Test func `an insert includes related objects that nothing else holds`() throws {
    try Piece.$counter.withValue(counter) {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(StoreConfiguration(type: .inMemory), at: nil)
      let context = ManagedObjectContext(coordinator: coordinator)
      try context.performAndWait {
        let id: ManagedObjectID
        do {
          let whole = try piece("whole")
          let part = try piece("part")
          id = part.objectID
          part.whole = whole
          context.insert(whole)
        }
        #expect(context.insertedObjects.count == 2)
        try context.save()
        let part = try #require(context.object(with: id) as? Piece)
        #expect(part.whole?.name == "whole")
        context.reset()
      }
      #expect(counter.living == 0)
    }
  }

  @Test func `related objects are released after their insert was rolled back`() throws {
    try Piece.$counter.withValue(counter) {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(StoreConfiguration(type: .inMemory), at: nil)
      try ManagedObjectContext(coordinator: coordinator).performAndWait {
        let whole = try piece("whole")
        whole.parts.insert(try piece("part"))
        let context = ManagedObjectContext(coordinator: coordinator)
        context.performAndWait {
          context.insert(whole)
          context.rollback()
        }
      }
      #expect(counter.living == 0)
    }
  }
}
