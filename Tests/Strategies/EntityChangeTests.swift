import CoherenceCore
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

/// The reports of saves in streams of changes by entity.
@MainActor
@Suite("Changes by entity", .timeLimit(.minutes(15)))
struct EntityChangeTests {
  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `entity changes report records that the view has not loaded`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let stack = try Stack(strategy, on: backend)
    var changes = try stack.container.entityChanges(of: "ContainerUser").makeAsyncIterator()
    let id = try stack.saveUser(named: "ada")
    let inserted = try #require(await changes.next())
    #expect(inserted.entity.name == "ContainerUser")
    #expect(inserted.inserted == [id] && inserted.count == 1 && !inserted.isEverything)
    try stack.change(id) { $0.userName = "grace" }
    let updated = try #require(await changes.next())
    #expect(updated.updated == [id] && updated.count == 1)
    try stack.delete(id)
    let deleted = try #require(await changes.next())
    #expect(deleted.deleted == [id] && deleted.count == 1)
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `entity changes report saves of the view by permanent identifiers`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let stack = try Stack(strategy, on: backend)
    var changes = stack.container.entityChanges().makeAsyncIterator()
    let user = try ContainerUser.insert(named: "ada", into: stack.view)
    try stack.view.save()
    #expect(await changes.next()?.inserted == [user.objectID])
    user.userName = "grace"
    try stack.view.save()
    #expect(await changes.next()?.updated == [user.objectID])
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `entity changes do not report saves into a parent, failed saves and empty saves`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let stack = try Stack(strategy, on: backend)
    var changes = stack.container.entityChanges().makeAsyncIterator()
    let background = stack.container.newBackgroundContext()
    let id = try background.performAndWait {
      let child = ManagedObjectContext(parent: background)
      try child.performAndWait {
        _ = try ContainerUser.insert(named: "ada", into: child)
        try child.save()
      }
      let user = try #require(background.insertedObjects.first as? ContainerUser)
      let invalid = try background.insertNewObject(forEntityName: "ContainerUser")
      #expect(throws: CoherenceError.self) { try background.save() }
      background.delete(invalid)
      try background.save()
      try background.save()
      return user.objectID
    }
    let report = try #require(await changes.next())
    #expect(report.inserted == [id] && report.count == 1)
    // The stream has no other report.
    let last = try stack.saveUser(named: "grace")
    #expect(await changes.next()?.inserted == [last])
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `a fetch on the view finds the reported records`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let stack = try Stack(strategy, on: backend)
    let view = stack.view
    let stream = try stack.container.entityChanges(of: "ContainerUser")
    let reading = Task { @MainActor in
      for await changes in stream {
        let found = try view.fetch(FetchRequest(ContainerUser.self)).map(\.objectID)
        return changes.inserted.isSubset(of: found) && changes.inserted.count == 100
      }
      return false
    }
    try await stack.container.performBackgroundTask { context in
      for number in 0..<100 { _ = try ContainerUser.insert(named: "user \(number)", into: context) }
      try context.save()
    }
    #expect(try await reading.value)
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `entity changes report the records of batch requests`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let stack = try Stack(strategy, on: backend)
    let ids = try ["ada", "grace"].map { try stack.saveUser(named: $0) }
    var changes = stack.container.entityChanges().makeAsyncIterator()
    let background = stack.container.newBackgroundContext()
    try background.performAndWait {
      var update = BatchUpdateRequest(entityName: "ContainerUser", values: ["firstName": "A"])
      update.predicate = try FetchPredicate(format: "userName == 'ada'")
      try background.execute(update)
    }
    #expect(await changes.next()?.updated == [ids[0]])
    try background.performAndWait { _ = try background.execute(BatchDeleteRequest(entityName: "ContainerUser")) }
    #expect(await changes.next()?.deleted == Set(ids))
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `entity changes report a save for each changed entity, with links and subentities`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let model = try ManagedObjectModel(name: "Clubs") {
      Entity("Person") {
        Attribute("name", .string)
        Relationship("clubs", toMany: "Club", inverse: "members")
      }
      Entity("Employee", parent: "Person")
      Entity("Club") {
        Attribute("name", .string)
        Relationship("members", toMany: "Person", inverse: "clubs")
      }
    }
    let directory = TemporaryDirectory()
    let container = strategy.makeContainer(model: model, in: directory)
    try container.attachPersistentStore(for: backend.newConfiguration())
    var people = try container.entityChanges(of: "Person").makeAsyncIterator()
    var clubs = try container.entityChanges(of: "Club").makeAsyncIterator()
    let background = container.newBackgroundContext()
    func insert(_ name: String) throws -> ManagedObject {
      let object = try background.insertNewObject(forEntityName: name)
      try object.setValue("one", for: "name")
      return object
    }
    let ids = try background.performAndWait {
      let objects = [try insert("Employee"), try insert("Club")]
      try background.save()
      return objects.map(\.objectID)
    }
    let employee = try #require(await people.next())
    #expect(employee.entity.name == "Employee" && employee.inserted == [ids[0]])
    #expect(await clubs.next()?.inserted == [ids[1]])
    try background.performAndWait {
      let club = try background.existingObject(with: ids[1])
      try club.setObjects([try background.existingObject(with: ids[0])], for: "members")
      try background.save()
    }
    #expect(await clubs.next()?.updated == [ids[1]])
    #expect(await people.next()?.updated == [ids[0]])
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `a restored record is updated for a reader that has not read its delete, and inserted for another reader`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let stack = try Stack(strategy, on: backend)
    let id = try stack.saveUser(named: "ada")
    let coordinator = stack.container.persistentStoreCoordinator
    var early = stack.container.entityChanges().makeAsyncIterator()
    var late = stack.container.entityChanges().makeAsyncIterator()
    let writer = ManagedObjectContext(coordinator: coordinator)
    writer.mergePolicy = .objectTrumps
    try writer.performAndWait { try writer.user(id).userName = "grace" }
    let other = ManagedObjectContext(coordinator: coordinator)
    try other.performAndWait {
      other.delete(try other.user(id))
      try other.save()
    }
    #expect(await early.next()?.deleted == [id])
    try writer.performAndWait { try writer.save() }
    let inserted = try #require(await early.next())
    #expect(inserted.inserted == [id] && inserted.count == 1)
    let updated = try #require(await late.next())
    #expect(updated.updated == [id] && updated.count == 1)
    #expect(try stack.view.fetchIDs(FetchRequest<ManagedObject>(entityName: "ContainerUser")) == [id])
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `a record restored twice is inserted for a reader that has read neither its insert nor its first restore`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let stack = try Stack(strategy, on: backend)
    let coordinator = stack.container.persistentStoreCoordinator
    var early = stack.container.entityChanges().makeAsyncIterator()
    let id = try stack.saveUser(named: "ada")
    var late = stack.container.entityChanges().makeAsyncIterator()
    for name in ["grace", "edith"] {
      let writer = ManagedObjectContext(coordinator: coordinator)
      writer.mergePolicy = .objectTrumps
      try writer.performAndWait { try writer.user(id).userName = name }
      let other = ManagedObjectContext(coordinator: coordinator)
      try other.performAndWait {
        other.delete(try other.user(id))
        try other.save()
      }
      if name == "grace" { #expect(await late.next()?.deleted == [id]) }
      try writer.performAndWait { try writer.save() }
    }
    for changes in [await early.next(), await late.next()] { #expect(changes?.inserted == [id] && changes?.count == 1) }
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `a batch insert of members is reported as an update of their owners`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let model = try ManagedObjectModel(name: "Shelves") {
      Entity("Shelf") {
        Attribute("name", .string)
        Relationship("books", toMany: "Book", inverse: "shelf")
      }
      Entity("Book") {
        Attribute("title", .string)
        Relationship("shelf", toOne: "Shelf", inverse: "books")
      }
    }
    let directory = TemporaryDirectory()
    let container = strategy.makeContainer(model: model, in: directory)
    try container.attachPersistentStore(
      for: backend.configuration(named: UUID().uuidString.filter(\.isHexDigit)))
    let background = container.newBackgroundContext()
    func saveShelf() throws -> ManagedObjectID {
      let shelf = try background.insertNewObject(forEntityName: "Shelf")
      try shelf.setValue("one", for: "name")
      try background.save()
      return shelf.objectID
    }
    let owner = try background.performAndWait { try saveShelf() }
    var shelves = try container.entityChanges(of: "Shelf").makeAsyncIterator()
    let other = try background.performAndWait {
      let row: [String: AttributeValue] = ["title": .string("a"), "shelf": .reference(owner)]
      try background.execute(BatchInsertRequest(entityName: "Book", rows: [row]))
      return try saveShelf()
    }
    let changes = try #require(await shelves.next())
    #expect(changes.updated == [owner] && changes.inserted == [other])
  }
}
