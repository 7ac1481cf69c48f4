import CoherenceCore
import CoherenceStrategies
import Testing
import TestSupport

/// The records behind the range of a live result with a limit, and the bounds of what a result reports.
@MainActor
@Suite("Limited live results", .timeLimit(.minutes(15)))
struct LimitedResultTests {
  private typealias Controller = FetchedResultsController<ManagedObject>

  /// Saves tracks with some lengths.
  private func add(_ lengths: [Int], to stack: LiveLibrary.Stack) throws {
    try stack.write { context in
      for length in lengths { try LiveLibrary.track("t", length: length, in: context) }
    }
  }

  /// Deletes the tracks with a length below a bound.
  private func delete(below length: Int, in stack: LiveLibrary.Stack) throws {
    try stack.write { context in
      for track in try context.fetch(LiveLibrary.tracks.filter(try FetchPredicate(format: "length < \(length)"))) {
        context.delete(track)
      }
    }
  }

  @Test(arguments: [[1, 0, 33], [40, 5, 85], [1_050, 0, 2_050], [3_000, 0, 2_100]])
  func `a result reads as many spare records as its limit, but 32 at least and a thousand at most`(
    numbers: [Int]
  ) throws {
    let stack = try LiveLibrary.Stack(.direct, on: .inMemory)
    try add(Array(0..<2_100), to: stack)
    let request = LiveLibrary.tracks.sort("length").limit(numbers[0], offset: numbers[1])
    let controller = Controller(fetchRequest: request, managedObjectContext: stack.view)
    try controller.performFetch()
    let view = stack.view
    let work = view.performAndWait { view.liveWork }
    #expect(work.evaluatedRows == numbers[2])
    #expect(work.runs == 1)
    #expect(controller.fetchedObjects.count == min(numbers[0], 2_100 - numbers[1]))
  }

  @Test(arguments: [32, 33])
  func `new records in a result displace its spare records above a bound`(count: Int) throws {
    let stack = try LiveLibrary.Stack(.direct, on: .inMemory)
    try add((0..<100).map { $0 * 10 }, to: stack)
    let (view, request) = (stack.view, LiveLibrary.tracks.sort("length").limit(10))
    let controller = Controller(fetchRequest: request, managedObjectContext: view)
    try controller.performFetch()
    try add((0..<count).map { $0 - count }, to: stack)
    #expect(try controller.fetchedObjects.map(\.objectID) == view.fetchIDs(request))
    // Above 74 entries, the result keeps 42.
    try delete(below: 1, in: stack)
    #expect(try controller.fetchedObjects.map(\.objectID) == view.fetchIDs(request))
    let runs = view.performAndWait { view.liveWork.runs }
    #expect(runs == (count > 32 ? 2 : 1))
  }

  @Test func `a record behind displaced spare records enters no result in their place`() throws {
    let stack = try LiveLibrary.Stack(.direct, on: .inMemory)
    try add((0..<100).map { $0 * 10 }, to: stack)
    let (view, request) = (stack.view, LiveLibrary.tracks.sort("length").limit(10))
    let controller = Controller(fetchRequest: request, managedObjectContext: view)
    try controller.performFetch()
    try add((0..<33).map { $0 - 33 }, to: stack)
    #expect(controller.fetchedObjects.count == 10)
    // The spare records now end at the length 80.
    try add([95], to: stack)
    #expect(controller.fetchedObjects.count == 10)
    try delete(below: 0, in: stack)
    #expect(try controller.fetchedObjects.map(\.objectID) == view.fetchIDs(request))
    #expect(try controller.fetchedObjects.map { try $0.value(for: "length", as: Int.self) } == (0..<10).map { $0 * 10 })
  }

  @Test(arguments: [10_000, 10_001])
  func `up to ten thousand records that enter a result are named, and more are a change of everything`(
    count: Int
  ) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: .inMemory)
    try stack.write { context in
      let artist = try context.insertNewObject(forEntityName: "Artist")
      try artist.setValue("x", for: "name")
      try artist.setValue(1, for: "rating")
      for number in 0..<count {
        try LiveLibrary.track("t", length: number, in: context).setObject(artist, for: "artist")
      }
    }
    stack.view.reset()
    let request = LiveLibrary.tracks.filter(try FetchPredicate(format: "artist.rating > 5"))
    let controller = Controller(fetchRequest: request, managedObjectContext: stack.view)
    try controller.performFetch()
    #expect(controller.fetchedObjects.isEmpty)
    var told = stack.view.objectsDidChange.makeAsyncIterator()
    // One changed record, so that no list of changes reaches its bound.
    try stack.write { context in
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Artist")).first?.setValue(9, for: "rating")
    }
    stack.view.performAndWait {}
    let changes = try #require(await told.next())
    #expect(changes.isEverything == (count > 10_000))
    #expect(changes.inserted.count == (count > 10_000 ? 0 : count))
    #expect(controller.snapshot?.count == count)
  }

  @Test func `the detachment of a store ends the results that read from it, and no others`() throws {
    let model = try ManagedObjectModel(configurations: ["Notes": ["Note"], "Books": ["Book"]]) {
      Entity("Note") { Attribute("title", .string) }
      Entity("Book") { Attribute("title", .string) }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let stores = try ["Notes", "Books"].map { name in
      var configuration = Backend.inMemory.configuration(named: name)
      configuration.name = name
      configuration.options = [:]
      return try coordinator.addPersistentStore(configuration, at: nil)
    }
    let context = ManagedObjectContext(coordinator: coordinator)
    let notes = try LiveWatcher("notes", FetchRequest(entityName: "Note"), in: context)
    let books = try LiveWatcher("books", FetchRequest(entityName: "Book"), in: context)
    try coordinator.remove(stores[1])
    context.performAndWait {}
    #expect(books.failures.map { ($0 as? CoherenceError)?.code } == [.storeDetached])
    let writer = ManagedObjectContext(coordinator: coordinator)
    try writer.performAndWait {
      try writer.insertNewObject(forEntityName: "Note").setValue("a", for: "title")
      try writer.save()
    }
    context.performAndWait {}
    #expect(try notes.difference() == nil)
    let count = context.performAndWait { notes.controller.fetchedObjects.count }
    #expect(count == 1)
  }
}
