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
