import CoherenceCore
import CoherenceStrategies
import Testing
import TestSupport

/// The beginning and the end of live results, and wrong use.
@MainActor
@Suite("Ends of live results", .timeLimit(.minutes(15)))
struct LiveResultEndTests {
  /// The code of the error that a block throws; `nil` for none.
  private static func code<T>(_ body: () throws -> T) -> ErrorCode? {
    do {
      _ = try body()
      return nil
    } catch {
      return (error as? CoherenceError)?.code
    }
  }

  @Test func `a faulty request is an error before the stream begins`() throws {
    let stack = try LiveLibrary.Stack(.direct, on: .inMemory)
    let view = stack.view
    func expect(_ code: ErrorCode, _ request: FetchRequest<ManagedObject>, sections: String? = nil) {
      #expect(Self.code { try view.values(of: request, sectionKeyPath: sections) } == code)
      #expect(Self.code { try view.changes(of: request, sectionKeyPath: sections) } == code)
      let controller = FetchedResultsController(
        fetchRequest: request, managedObjectContext: view, sectionKeyPath: sections)
      #expect(Self.code { try controller.performFetch() } == code)
    }
    expect(.unknownEntity, FetchRequest(entityName: "Album"))
    expect(.unknownProperty, LiveLibrary.tracks.sort("size"))
    expect(.unknownProperty, LiveLibrary.tracks.filter(try FetchPredicate(format: "size > 1")))
    expect(.invalidPredicate, LiveLibrary.tracks.filter(try FetchPredicate(format: "length == 'x'")))
    expect(.invalidFetchRequest, LiveLibrary.tracks.limit(-1))
    expect(.invalidFetchRequest, LiveLibrary.tracks.sort("title").sort("genre"), sections: "genre")
    expect(.invalidFetchRequest, LiveLibrary.tracks, sections: "genre")
    let lonely = ManagedObjectContext()
    #expect(Self.code { try lonely.values(of: LiveLibrary.tracks) } == .contextWithoutStore)
    let own = ManagedObjectContext(concurrencyType: .currentThread, coordinator: stack.coordinator)
    #expect(Self.code { try own.values(of: LiveLibrary.tracks) } == .wrongContext)
  }

  @Test(arguments: [Int.max, .max - 1, .max - 1_000], [0, 1])
  func `a result with a limit that no result reaches has all records behind the offset`(limit: Int, offset: Int) throws
  {
    let stack = try LiveLibrary.Stack(.direct, on: .inMemory)
    try stack.add("a", "b", "c")
    let controller = FetchedResultsController(
      fetchRequest: LiveLibrary.tracks.sort("title").limit(limit, offset: offset), managedObjectContext: stack.view)
    try controller.performFetch()
    #expect(controller.fetchedObjects.count == 3 - offset)
  }

  @Test(arguments: Backend.available)
  func `a detached store ends its live results with an error`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    var values = try stack.view.values(of: LiveLibrary.tracks).makeAsyncIterator()
    _ = try await values.next()
    let watcher = try LiveWatcher("controller", LiveLibrary.tracks, in: stack.view)
    try stack.coordinator.remove(stack.store)
    do {
      _ = try await values.next()
      Issue.record("The stream ended without an error.")
    } catch ErrorCode.storeDetached {}
    #expect(try await values.next() == nil)
    #expect(watcher.failures.count == 1)
  }

  @Test(arguments: Backend.available)
  func `a result that is asked for again in the block that attaches its store again stays up to date`(
    backend: Backend
  ) throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let context = ManagedObjectContext(coordinator: stack.coordinator)
    let controller = FetchedResultsController(fetchRequest: LiveLibrary.tracks, managedObjectContext: context)
    try context.performAndWait { try controller.performFetch() }
    try context.performAndWait {
      try stack.coordinator.remove(stack.store)
      try stack.container.attachPersistentStore(for: stack.configuration)
      try controller.performFetch()
    }
    try stack.add("a")
    let count = context.performAndWait { controller.fetchedObjects.count }
    #expect(count == 1)
  }

  @Test func `the stream ends with its context`() async throws {
    let stack = try LiveLibrary.Stack(.direct, on: .inMemory)
    var context: ManagedObjectContext? = ManagedObjectContext(coordinator: stack.coordinator)
    var values = try context!.values(of: LiveLibrary.tracks).makeAsyncIterator()
    _ = try await values.next()
    context = nil
    #expect(try await values.next() == nil)
  }

  @Test func `a cancelled task ends its stream`() async throws {
    let stack = try LiveLibrary.Stack(.direct, on: .inMemory)
    let (begun, signal) = AsyncStream.makeStream(of: Void.self)
    let values = try stack.view.values(of: LiveLibrary.tracks)
    let task = Task {
      var count = 0
      for try await _ in values {
        count += 1
        signal.yield()
      }
      return count
    }
    for await _ in begun { break }
    task.cancel()
    #expect(try await task.value == 1)
  }

  @Test func `a released stream is dropped, and later saves are not posted to its context`() async throws {
    let stack = try LiveLibrary.Stack(.direct, on: .inMemory)
    do {
      var values = try stack.view.values(of: LiveLibrary.tracks).makeAsyncIterator()
      _ = try await values.next()
    }
    stack.view.performAndWait {}
    let view = stack.view
    let before = view.performAndWait { view.liveWork.evaluatedRows }
    try stack.add("a")
    #expect(view.performAndWait { view.liveWork.evaluatedRows } == before)
  }

  @Test(arguments: Backend.available)
  func `a controller may be released by its delegate`(backend: Backend) throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let owner = ReleasingOwner()
    let controller = FetchedResultsController(fetchRequest: LiveLibrary.tracks, managedObjectContext: stack.view)
    try controller.performFetch()
    controller.delegate = owner
    owner.controller = consume controller
    try stack.add("a")
    stack.view.performAndWait {}
    #expect(owner.controller == nil && owner.count == 1)
    try stack.add("b")
    stack.view.performAndWait {}
    #expect(owner.count == 1)
  }

  @Test(arguments: Backend.available)
  func `results that follow other processes show the saves of another coordinator`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    var values = try stack.view.values(of: LiveLibrary.tracks, followingOtherProcesses: true).makeAsyncIterator()
    #expect(try await values.next()?.isEmpty == true)
    let stranger = LiveStrategy.direct.makeContainer(in: stack.directory)
    try stranger.attachPersistentStore(for: stack.configuration)
    let context = stranger.newBackgroundContext()
    try context.performAndWait {
      try LiveLibrary.track("a", in: context)
      context.signalOnSave(PersistentStoreCoordinator.liveResultsChannel)
      try context.save()
    }
    var count = 0
    while count == 0, let list = try await values.next() { count = list.count }
    #expect(count == 1)
  }
}

/// Releases a controller when it reports a change.
private final class ReleasingOwner: FetchedResultsControllerDelegate {
  var controller: FetchedResultsController<ManagedObject>?
  var count = 0

  func controller(
    _ controller: FetchedResultsController<ManagedObject>, didChange changes: ResultChanges<ManagedObject>
  ) {
    count += 1
    self.controller = nil
  }
}

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

  @Test(arguments: Backend.available)
  func `a save that merges the values of another writer names the object as refreshed`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let id = try #require(try stack.add("a")["a"])
    let context = stack.container.newBackgroundContext()
    context.mergePolicy = .objectTrumps
    try context.performAndWait { try #require(try context.objects(for: [id]).first).setValue(7, for: "plays") }
    try stack.write { try $0.objects(for: [id]).first?.setValue("b", for: "title") }
    var told = context.objectsDidChange.makeAsyncIterator()
    let title = try context.performAndWait {
      let track = try #require(context.updatedObjects.first)
      try context.save()
      return try track.value(for: "title", as: String.self)
    }
    #expect(title == "b")
    // Without the report of the save, the insert is the first change.
    try context.performAndWait { _ = try LiveLibrary.track("c", in: context) }
    let changes = try #require(await told.next())
    #expect(changes.refreshed == [id] && changes.inserted.isEmpty && changes.updated.isEmpty)
  }

  @Test(arguments: Backend.available)
  func `a reset reports that everything may have changed`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    var told = stack.view.objectsDidChange.makeAsyncIterator()
    stack.view.reset()
    #expect(await told.next()?.isEverything == true)
  }
}
