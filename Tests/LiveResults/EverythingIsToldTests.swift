import CoherenceCore
import CoherenceStrategies
import Testing
import TestSupport

/// Makes the objects of a controller's list after each change.
private final class ObjectReader: FetchedResultsControllerDelegate {
  private(set) var objects: [ManagedObject] = []

  func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
    objects = controller.fetchedObjects
  }
}

/// The notifications of changed objects, as far as live results and reverts add to them.
@MainActor
@Suite("Notifications of everything that changed", .timeLimit(.minutes(15)))
struct EverythingIsToldTests {
  @Test(arguments: Backend.available)
  func `an update that enters a live result is named as a record shown for the first time`(
    backend: Backend
  ) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let id = try #require(try stack.add("a", genre: "x")["a"])
    stack.view.reset()
    let request = LiveLibrary.tracks.filter(try FetchPredicate(format: "genre == 'y'"))
    let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: stack.view)
    try controller.performFetch()
    #expect(stack.view.registeredObject(with: id) == nil)
    var told = stack.view.objectsDidChange.makeAsyncIterator()
    try stack.write { try $0.objects(for: [id]).first?.setValue("y", for: "genre") }
    stack.view.performAndWait {}
    #expect(await told.next()?.inserted == [id])
    #expect(controller.fetchedObjects.map(\.objectID) == [id])
  }

  @Test(arguments: Backend.available)
  func `a record that enters a live result by another run of its request is named as shown for the first time`(
    backend: Backend
  ) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let id = try #require(try stack.add("a")["a"])
    try stack.write { context in
      let artist = try context.insertNewObject(forEntityName: "Artist")
      try artist.setValue("artist", for: "name")
      try artist.setValue(1, for: "rating")
    }
    let artists = try stack.view.performAndWait { try stack.view.fetchIDs(FetchRequest(entityName: "Artist")) }
    let artist = try #require(artists.first)
    stack.view.reset()
    // A change of the members of other records runs the request again.
    let request = LiveLibrary.tracks.filter(try FetchPredicate(format: "artist.tracks.@count > 0"))
    let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: stack.view)
    try controller.performFetch()
    var told = stack.view.objectsDidChange.makeAsyncIterator()
    try stack.write { context in
      let objects = try context.objects(for: [id, artist])
      try objects[0].setObject(objects[1], for: "artist")
    }
    stack.view.performAndWait {}
    // The reset is a notification of its own, if none came before.
    stack.view.reset()
    #expect(await told.next()?.inserted == [id])
  }

  @Test(arguments: Backend.available)
  func `a record whose object the delegate of a live result makes is named as shown for the first time`(
    backend: Backend
  ) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let id = try #require(try stack.add("a", genre: "x")["a"])
    stack.view.reset()
    let delegate = ObjectReader()
    let request = LiveLibrary.tracks.filter(try FetchPredicate(format: "genre == 'y'"))
    let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: stack.view)
    controller.delegate = delegate
    try controller.performFetch()
    var told = stack.view.objectsDidChange.makeAsyncIterator()
    try stack.write { try $0.objects(for: [id]).first?.setValue("y", for: "genre") }
    stack.view.performAndWait {}
    #expect(delegate.objects.map(\.objectID) == [id])
    stack.view.reset()
    #expect(await told.next()?.inserted == [id])
  }

  @Test(arguments: Backend.available)
  func `a temporary identifier in a notification leads to its record after the save`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    var told = stack.view.objectsDidChange.makeAsyncIterator()
    try stack.view.performAndWait { _ = try LiveLibrary.track("a", in: stack.view) }
    let ids = try #require(await told.next()?.inserted)
    try stack.view.save()
    #expect(ids.count == 1 && ids.allSatisfy(\.isTemporaryID))
    #expect(try stack.view.objects(for: ids).count == 1)
  }

  @Test(arguments: Backend.available)
  func `a rollback names inserted objects as deleted, and changed ones as refreshed`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let id = try #require(try stack.add("a")["a"])
    let view = stack.view
    let track = try #require(try view.objects(for: [id]).first)
    let fresh = try view.performAndWait {
      try track.setValue("b", for: "title")
      return try LiveLibrary.track("c", in: view).objectID
    }
    var told = view.objectsDidChange.makeAsyncIterator()
    view.rollback()
    let changes = await told.next()
    #expect(changes?.deleted == [fresh] && changes?.refreshed == [id])
  }

  /// Expects that work with an edited record, which another writer has changed, shows the other writer's value and names
  /// the record as refreshed.
  private func expectRefreshed(
    on backend: Backend, by work: @Sendable (ManagedObjectContext, ManagedObject) throws -> Void
  ) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let id = try #require(try stack.add("a")["a"])
    let context = stack.container.newBackgroundContext()
    context.mergePolicy = .objectTrumps
    try context.performAndWait { try #require(try context.objects(for: [id]).first).setValue(7, for: "plays") }
    try stack.write { try $0.objects(for: [id]).first?.setValue("b", for: "title") }
    var told = context.objectsDidChange.makeAsyncIterator()
    let title = try context.performAndWait {
      let track = try #require(context.updatedObjects.first)
      try work(context, track)
      return try track.value(for: "title", as: String.self)
    }
    #expect(title == "b")
    // Without the report of the work, the insert is the first change.
    try context.performAndWait { _ = try LiveLibrary.track("c", in: context) }
    let changes = try #require(await told.next())
    #expect(changes.refreshed == [id] && changes.inserted.isEmpty && changes.updated.isEmpty)
  }

  @Test(arguments: Backend.available)
  func `a save that merges the values of another writer names the object as refreshed`(backend: Backend) async throws {
    try await expectRefreshed(on: backend) { context, _ in try context.save() }
  }

  @Test(arguments: Backend.available)
  func `a refresh that keeps an object's edits names the object with the values of another writer`(
    backend: Backend
  ) async throws {
    try await expectRefreshed(on: backend) { context, track in context.refresh(track, mergeChanges: true) }
  }

  @Test(arguments: Backend.available)
  func `a save names the record that loses its partner to the edit of a record in conflict`(
    backend: Backend
  ) async throws {
    let model = try ManagedObjectModel(name: "Portraits") {
      Entity("Artist") { Relationship("portrait", toOne: "Picture", inverse: "artist") }
      Entity("Picture") { Relationship("artist", toOne: "Artist", inverse: "portrait") }
    }
    let directory = TemporaryDirectory()
    let container = GenericPersistentContainer<ContextStrategy.Direct>(
      name: "Portraits", managedObjectModel: model, storeLocation: directory.url)
    try container.attachPersistentStore(for: backend.newConfiguration())
    let (context, other) = (container.newBackgroundContext(), container.newBackgroundContext())
    context.mergePolicy = .objectTrumps
    context.follow(other)
    let objects = try context.performAndWait {
      let objects = try ["Picture", "Artist", "Artist"].map { try context.insertNewObject(forEntityName: $0) }
      try context.save()
      try objects[0].setObject(objects[1], for: "artist")
      return objects
    }
    let ids = context.performAndWait { objects.map(\.objectID) }
    try other.performAndWait {
      try other.existingObject(with: ids[0]).setObject(try other.existingObject(with: ids[2]), for: "artist")
      try other.save()
    }
    try context.performAndWait { () throws in #expect(try objects[2].object(for: "portrait") === objects[0]) }
    var told = context.objectsDidChange.makeAsyncIterator()
    try context.performAndWait {
      try context.save()
      #expect(try objects[2].object(for: "portrait") == nil)
    }
    // Without the report of the save, the insert is the first change.
    _ = try context.performAndWait { try context.insertNewObject(forEntityName: "Artist") }
    #expect(await told.next()?.refreshed.contains(ids[2]) == true)
  }

  @Test(arguments: Backend.available)
  func `a save names the record that loses its partner together with an edit that the policy discards`(
    backend: Backend
  ) async throws {
    let model = try ManagedObjectModel(name: "Portraits") {
      Entity("Artist") {
        Attribute("name", .string, optional: true)
        Relationship("portrait", toOne: "Picture", inverse: "artist")
      }
      Entity("Picture") { Relationship("artist", toOne: "Artist", inverse: "portrait") }
    }
    let directory = TemporaryDirectory()
    let container = GenericPersistentContainer<ContextStrategy.Direct>(
      name: "Portraits", managedObjectModel: model, storeLocation: directory.url)
    try container.attachPersistentStore(for: backend.newConfiguration())
    let (context, other) = (container.newBackgroundContext(), container.newBackgroundContext())
    let objects = try context.performAndWait {
      let objects = try ["Picture", "Artist", "Artist"].map { try context.insertNewObject(forEntityName: $0) }
      try context.save()
      try objects[0].setObject(objects[1], for: "artist")
      try objects[2].setValue("mine", for: "name")
      return objects
    }
    let ids = context.performAndWait { objects.map(\.objectID) }
    try other.performAndWait {
      try other.existingObject(with: ids[0]).setObject(try other.existingObject(with: ids[2]), for: "artist")
      try other.save()
    }
    let picture = ids[0]
    context.mergePolicy = .custom { conflict in conflict.objectID == picture ? conflict.mine?.values : nil }
    var told = context.objectsDidChange.makeAsyncIterator()
    try context.performAndWait {
      try context.save()
      #expect(try objects[2].object(for: "portrait") == nil)
      #expect(try objects[2].value(for: "name") == .null)
    }
    // Without the report of the save, the insert is the first change.
    _ = try context.performAndWait { try context.insertNewObject(forEntityName: "Artist") }
    #expect(await told.next()?.refreshed.contains(ids[2]) == true)
  }

  @Test(arguments: Backend.available)
  func `a reset reports that everything may have changed`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    var told = stack.view.objectsDidChange.makeAsyncIterator()
    stack.view.reset()
    #expect(await told.next()?.isEverything == true)
  }
}
