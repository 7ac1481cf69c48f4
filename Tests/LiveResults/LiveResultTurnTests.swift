import CoherenceCore
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

/// The moments at which a live result is up to date, and work in the middle of its deliveries.
@MainActor
@Suite("Turns of live results", .timeLimit(.minutes(15)))
struct LiveResultTurnTests {
  private typealias Controller = FetchedResultsController<ManagedObject>

  /// The properties of a controller, for a result with the tracks "a" in the section "x" and "b" in the section "y".
  nonisolated private static let questions: [@MainActor @Sendable (Controller, ManagedObject) -> Bool] = [
    { controller, _ in controller.sections.map(\.name) == ["x", "y"] },
    { controller, _ in controller.snapshot?.count == 2 },
    { controller, _ in controller.fetchedObjects.count == 2 },
    { controller, track in controller.object(at: IndexPath(indexes: [1, 0])) === track },
    { controller, track in controller.index(for: track) == 1 },
    { controller, track in controller.indexPath(for: track) == IndexPath(indexes: [1, 0]) },
  ]

  @Test(arguments: Self.questions.indices, Backend.available)
  func `each property of a controller shows a finished save of another context`(
    question: Int, backend: Backend
  ) throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let id = try #require(try stack.add("b", genre: "y")["b"])
    let controller = Controller(
      fetchRequest: LiveLibrary.tracks.sort("genre"), managedObjectContext: stack.view, sectionKeyPath: "genre")
    try controller.performFetch()
    let track = try #require(controller.fetchedObjects.first)
    #expect(track.objectID == id)
    try stack.write { _ = try LiveLibrary.track("a", genre: "x", in: $0) }
    #expect(Self.questions[question](controller, track))
  }

  private static func artist(_ name: String, in context: ManagedObjectContext) throws -> ManagedObject {
    let artist = try context.insertNewObject(forEntityName: "Artist")
    try artist.setValue(name, for: "name")
    try artist.setValue(1, for: "rating")
    return artist
  }

  /// Adds an unsaved track to the artist "b".
  private static func addTrack(in context: ManagedObjectContext) throws {
    try context.performAndWait {
      let request = FetchRequest<ManagedObject>(entityName: "Artist").filter(try FetchPredicate(format: "name == 'b'"))
      try LiveLibrary.track("track", in: context).setObject(try context.fetchFirst(request), for: "artist")
    }
  }

  private static func byTracks() -> FetchRequest<ManagedObject> {
    FetchRequest<ManagedObject>(entityName: "Artist").sort("tracks.@count", .reverse).sort("name")
  }

  @Test(arguments: Backend.available)
  func `a child of a child follows members that its parents save, also if its turn is before its parent's turn`(
    backend: Backend
  ) throws {
    let stack = try LiveLibrary.Stack(.mixed, on: backend)
    try stack.write { context in for name in ["a", "b"] { _ = try Self.artist(name, in: context) } }
    let child = ManagedObjectContext(parent: stack.view)
    let grandchild = ManagedObjectContext(parent: child)
    let watcher = try LiveWatcher("grandchild", Self.byTracks(), in: grandchild)
    // With an unsaved record of its own, the context evaluates the order by the lists of its objects.
    try grandchild.performAndWait { _ = try Self.artist("c", in: grandchild) }
    #expect(try watcher.difference() == nil)
    try Self.addTrack(in: stack.view)
    #expect(try watcher.difference() == nil)
    try child.performAndWait {
      try stack.view.performAndWait { try stack.view.save() }
      // The turn knows the save. The child passes the identifiers on after its block.
      grandchild.performAndWait {}
    }
    child.performAndWait {}
    grandchild.performAndWait {}
    #expect(try watcher.difference() == nil)
  }

  @Test(arguments: Backend.available)
  func `a rollback of a child shows the members that its parent has added since`(backend: Backend) throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    try stack.write { context in for name in ["a", "b"] { _ = try Self.artist(name, in: context) } }
    let child = ManagedObjectContext(parent: stack.view)
    let watcher = try LiveWatcher("child", Self.byTracks(), in: child)
    try child.performAndWait { _ = try Self.artist("c", in: child) }
    #expect(try watcher.difference() == nil)
    try Self.addTrack(in: stack.view)
    #expect(try watcher.difference() == nil)
    child.performAndWait { child.rollback() }
    #expect(try watcher.difference() == nil)
  }

  @Test(arguments: Backend.available, [false, true])
  func `a child whose lists become out of date shows the members that its parent has added since`(
    backend: Backend, isBatch: Bool
  ) throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    try stack.write { context in
      for name in ["a", "b"] { _ = try Self.artist(name, in: context) }
      try LiveLibrary.track("other", in: context)
    }
    let child = ManagedObjectContext(parent: stack.view)
    let watcher = try LiveWatcher("child", Self.byTracks(), in: child)
    try child.performAndWait { _ = try Self.artist("c", in: child) }
    // The controller retains the objects, which keep their lists.
    try child.performAndWait {
      for artist in watcher.controller.fetchedObjects { _ = try artist.objects(for: "tracks") }
    }
    try Self.addTrack(in: stack.view)
    #expect(try watcher.difference() == nil)
    if isBatch {
      try child.performAndWait { _ = try child.execute(BatchUpdateRequest(entityName: "Track", values: ["plays": 1])) }
    } else {
      try stack.write { _ = try LiveLibrary.track("another", in: $0) }
    }
    #expect(try watcher.difference() == nil)
  }

  @Test(arguments: Backend.available)
  func `a cancelled task that uses a context ends no result of the context`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    // A change of the members of other records runs the request again, and a cancelled task's fetches fail.
    let request = LiveLibrary.tracks.filter(try FetchPredicate(format: "artist.tracks.@count > 0")).sort("title")
    let watcher = try LiveWatcher("controller", request, in: stack.view)
    var values = try stack.view.values(of: request).makeAsyncIterator()
    #expect(try await values.next()?.isEmpty == true)
    try stack.write { context in
      let artist = try context.insertNewObject(forEntityName: "Artist")
      try artist.setValue("artist", for: "name")
      try artist.setValue(1, for: "rating")
      try LiveLibrary.track("a", in: context).setObject(artist, for: "artist")
    }
    await Task { @MainActor in
      withUnsafeCurrentTask { $0?.cancel() }
      _ = watcher.controller.fetchedObjects
    }.value
    #expect(try await values.next()?.count == 1)
    #expect(watcher.failures.isEmpty)
    #expect(try watcher.difference() == nil)
  }

  @Test(arguments: Backend.available)
  func `a delegate that runs its request again in the middle of a change has the newer result`(backend: Backend) throws
  {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    try stack.add("b", "d")
    let delegate = RunningAgain()
    let controller = Controller(fetchRequest: LiveLibrary.tracks.sort("title"), managedObjectContext: stack.view)
    controller.delegate = delegate
    try controller.performFetch()
    try stack.add("e")
    for title in ["a", "f", "c"] {
      #expect(try controller.fetchedObjects.map(\.objectID) == stack.view.fetchIDs(LiveLibrary.tracks.sort("title")))
      try LiveLibrary.track(title, in: stack.view)
      stack.view.performAndWait {}
    }
    #expect(controller.fetchedObjects.count == 7)
    #expect(try controller.fetchedObjects.map(\.objectID) == stack.view.fetchIDs(LiveLibrary.tracks.sort("title")))
  }

  @Test(arguments: LiveStrategy.allCases, Backend.available)
  func `a save of another context by the delegate is part of the next change`(
    strategy: LiveStrategy, backend: Backend
  ) throws {
    let stack = try LiveLibrary.Stack(strategy, on: backend)
    let request = LiveLibrary.tracks.sort("title")
    let watcher = try LiveWatcher("controller", request, in: stack.view)
    let writer = Writing { try stack.write { _ = try LiveLibrary.track("b", in: $0) } }
    let controller = Controller(fetchRequest: request, managedObjectContext: stack.view)
    controller.delegate = writer
    try controller.performFetch()
    try LiveLibrary.track("a", in: stack.view)
    stack.view.performAndWait {}
    #expect(controller.fetchedObjects.count == 2)
    #expect(try watcher.difference() == nil)
  }

  @Test(arguments: Backend.available)
  func `a controller that the delegate of another one fetches again receives no change that its result has`(
    backend: Backend
  ) throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let request = LiveLibrary.tracks.sort("title")
    let (first, second) = (
      Controller(fetchRequest: request, managedObjectContext: stack.view),
      Controller(fetchRequest: request, managedObjectContext: stack.view)
    )
    let (writer, collector) = (Writing { try second.performFetch() }, ChangeCollector())
    try first.performFetch()
    try second.performFetch()
    first.delegate = writer
    second.delegate = collector
    try stack.add("a")
    stack.view.performAndWait {}
    #expect(second.fetchedObjects.count == 1)
    #expect(collector.changes.isEmpty)
    let id = try #require(try stack.add("b")["b"])
    stack.view.performAndWait {}
    #expect(collector.changes == [.insert(id, at: 1)])
    #expect(collector.titles == ["a", "b"])
    withExtendedLifetime((first, writer)) {}
  }

  @Test(arguments: Backend.available)
  func `an inserted object enters a result with the values that the same turn assigns`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let watcher = Titles()
    let controller = Controller(fetchRequest: LiveLibrary.tracks.sort("title"), managedObjectContext: stack.view)
    controller.delegate = watcher
    try controller.performFetch()
    for title in ["b", "a", "c"] {
      let track = try stack.view.insertNewObject(forEntityName: "Track")
      try track.setValue(title, for: "title")
    }
    // No block and no save: the end of the turn delivers.
    #expect(watcher.titles.isEmpty)
    while watcher.titles.isEmpty { await Task.yield() }
    #expect(watcher.titles.allSatisfy { $0 == ["a", "b", "c"] })
  }

  @Test(arguments: Backend.available)
  func `the end of a turn delivers an inserted and an edited object once, with their last values`(
    backend: Backend
  ) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    try stack.add("b")
    let collector = ChangeCollector()
    let controller = Controller(fetchRequest: LiveLibrary.tracks.sort("title"), managedObjectContext: stack.view)
    controller.delegate = collector
    try controller.performFetch()
    let former = try #require(controller.fetchedObjects.first)
    try former.setValue("c", for: "title")
    // The insert is an operation, which notes the changes so far. No operation follows the last values.
    let new = try stack.view.insertNewObject(forEntityName: "Track")
    try new.setValue("a", for: "title")
    try former.setValue("d", for: "title")
    while collector.changes.isEmpty { await Task.yield() }
    try await stack.view.perform {}
    #expect(collector.changes == [.insert(new.objectID, at: 0), .update(former.objectID, from: 0, to: 1)])
    #expect(collector.titles == ["a", "d"])
  }

  @Test func `more edits in one turn than a context lists are all reported`() throws {
    let stack = try LiveLibrary.Stack(.direct, on: .inMemory)
    let count = 10_050
    try stack.write { context in
      for number in 0..<count { try LiveLibrary.track("\(number)", length: number, in: context) }
    }
    let counter = UpdateCounter()
    let controller = Controller(fetchRequest: LiveLibrary.tracks.sort("length"), managedObjectContext: stack.view)
    controller.delegate = counter
    try controller.performFetch()
    let tracks = controller.fetchedObjects
    try stack.view.performAndWait { for track in tracks { try track.setValue(1, for: "plays") } }
    #expect(counter.updated.count == count)
    // A return to the saved values has the versions that the edits were based on.
    counter.updated = []
    stack.view.rollback()
    #expect(counter.updated.count == count)
  }

  @Test func `a save of more records than a context lists keeps the records in their places`() throws {
    let stack = try LiveLibrary.Stack(.direct, on: .inMemory)
    let count = 5_100
    try stack.view.performAndWait {
      for number in 0..<count { try LiveLibrary.track("t", length: number, in: stack.view) }
    }
    let counter = UpdateCounter()
    let controller = Controller(fetchRequest: LiveLibrary.tracks.sort("length"), managedObjectContext: stack.view)
    controller.delegate = counter
    try controller.performFetch()
    try stack.view.performAndWait { try stack.view.save() }
    stack.view.performAndWait {}
    #expect(counter.renamedCount == count && counter.updated.count == count)
    #expect(controller.snapshot?.count == count)
  }

  @Test(arguments: Backend.availableSQL)
  func `with an unsaved record, a result sorted by a path costs no statement for each target`(
    backend: Backend
  ) throws {
    let stack = try LoggedStore(backend, LiveLibrary.model)
    defer { stack.close() }
    try stack.write { writer in
      for number in 0..<60 {
        let artist = try writer.insertNewObject(forEntityName: "Artist")
        try artist.setValue("artist \(number)", for: "name")
        try artist.setValue(number, for: "rating")
        try LiveLibrary.track("\(number)", in: writer).setObject(artist, for: "artist")
      }
    }
    let (context, log) = (stack.context(), stack.log)
    try context.performAndWait {
      try LiveLibrary.track("new", in: context)
      log.removeAll()
      let controller = Controller(
        fetchRequest: LiveLibrary.tracks.sort("artist.name").sort("title"), managedObjectContext: context)
      try controller.performFetch()
      #expect(controller.snapshot?.count == 61)
      #expect(log.reads.count <= 4, "\(log.reads.count) statements")
    }
  }
}

/// Changes the context and runs the request again before the first change.
private final class RunningAgain: FetchedResultsControllerDelegate {
  var count = 0

  func controllerWillChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
    count += 1
    guard count == 1 else { return }
    do {
      try LiveLibrary.track("z", in: controller.managedObjectContext)
      try controller.performFetch()
    } catch {
      Issue.record(error)
    }
  }
}

/// Runs a block after the first change.
private final class Writing: FetchedResultsControllerDelegate {
  private var body: (() throws -> Void)?

  init(_ body: @escaping () throws -> Void) { self.body = body }

  func controller(
    _ controller: FetchedResultsController<ManagedObject>, didChange changes: ResultChanges<ManagedObject>
  ) {
    do { try body.take()?() } catch { Issue.record(error) }
  }
}

/// Collects the updated records, and counts the records with new identifiers.
private final class UpdateCounter: FetchedResultsControllerDelegate {
  var updated: Set<ManagedObjectID> = []
  private(set) var renamedCount = 0

  func controller(
    _ controller: FetchedResultsController<ManagedObject>, didChange changes: ResultChanges<ManagedObject>
  ) {
    for case .update(let id, _, _) in changes.changes { updated.insert(id) }
    renamedCount += changes.renamed.count
  }
}

/// The titles of a controller's list after each change.
private final class Titles: FetchedResultsControllerDelegate {
  private(set) var titles: [[String]] = []

  func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
    titles.append(
      controller.fetchedObjects.map { object in
        if case .string(let title)? = try? object.value(for: "title") { title } else { "?" }
      })
  }
}

/// Collects all changes of a controller, with the titles of its list after the last change.
private final class ChangeCollector: FetchedResultsControllerDelegate {
  private(set) var changes: [ResultChanges<ManagedObject>.Change] = []
  private(set) var titles: [String] = []

  func controller(
    _ controller: FetchedResultsController<ManagedObject>, didChange changes: ResultChanges<ManagedObject>
  ) {
    self.changes += changes.changes
    titles = controller.fetchedObjects.compactMap { try? $0.value(for: "title", as: String.self) }
  }
}
