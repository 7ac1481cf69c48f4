import CoherenceCore
import CoherenceStrategies
import Observation
import Synchronization
import Testing
import TestSupport

/// The objects of live results, after saves whose changes reach the context only through its stores.
@MainActor
@Suite("Objects of live results", .timeLimit(.minutes(15)))
struct LiveObjectTests {
  /// A context of another coordinator on the store of a stack.
  private func makeStranger(of stack: LiveLibrary.Stack) throws -> (any PersistentContainer, ManagedObjectContext) {
    let stranger = LiveStrategy.direct.makeContainer(in: stack.directory)
    try stranger.attachPersistentStore(for: stack.configuration)
    return (stranger, stranger.newBackgroundContext())
  }

  private func write(_ title: String, to id: ManagedObjectID, by context: ManagedObjectContext) throws {
    try context.performAndWait {
      context.reset()
      let request = LiveLibrary.tracks.filter(try FetchPredicate(format: "length == 7"))
      try #require(try context.fetch(request).first).setValue(title, for: "title")
      context.signalOnSave(PersistentStoreCoordinator.liveResultsChannel)
      try context.save()
    }
  }

  private func saveTrack(_ stack: LiveLibrary.Stack) throws -> ManagedObjectID {
    try stack.write { context -> ManagedObjectID in
      let track = try LiveLibrary.track("a", length: 7, in: context)
      try context.obtainPermanentIDs(for: [track])
      return track.objectID
    }
  }

  @Test(arguments: LiveStrategy.allCases, Backend.available)
  func `an update of a listed record is in the object of the record when it is delivered`(
    strategy: LiveStrategy, backend: Backend
  ) throws {
    let stack = try LiveLibrary.Stack(strategy, on: backend)
    let id = try saveTrack(stack)
    let controller = FetchedResultsController(
      fetchRequest: LiveLibrary.tracks.sort("title"), managedObjectContext: stack.view)
    try controller.performFetch()
    let track = try #require(controller.fetchedObjects.first)
    #expect(try track.value(for: "title") == .string("a"))
    // Properties that the request reads, and others.
    for (name, value) in [("title", "b"), ("genre", "x")] {
      try stack.write { try $0.objects(for: [id]).first?.setValue(value, for: name) }
      #expect(controller.fetchedObjects == [track])
      #expect(try track.value(for: name) == .string(value))
      // The second write is a batch request.
      let text = "batch \(name)"
      try stack.write { context in
        try context.execute(
          BatchUpdateRequest(
            entityName: "Track", predicate: try FetchPredicate(format: "length == 7"), values: [name: text]))
      }
      #expect(controller.fetchedObjects == [track])
      #expect(try track.value(for: name) == .string(text))
    }
  }

  @Test(arguments: Backend.available)
  func `a record that enters a result has the values of later saves in its object`(backend: Backend) throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let id = try saveTrack(stack)
    stack.view.reset()
    let request = LiveLibrary.tracks.filter(try FetchPredicate(format: "genre == 'x'"))
    let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: stack.view)
    try controller.performFetch()
    try stack.write { try $0.objects(for: [id]).first?.setValue("x", for: "genre") }
    // The request does not read the property.
    try stack.write { try $0.objects(for: [id]).first?.setValue(9, for: "plays") }
    let track = try #require(controller.fetchedObjects.first)
    #expect(try track.value(for: "plays") == .int(9))
  }

  @Test(arguments: Backend.available)
  func `a result that follows other processes shows their values in objects in use`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let id = try saveTrack(stack)
    let track = try #require(try stack.view.objects(for: [id]).first)
    var values = try stack.view.values(of: LiveLibrary.tracks.sort("title"), followingOtherProcesses: true)
      .makeAsyncIterator()
    #expect(try await values.next()?.ids == [id])
    let (container, context) = try makeStranger(of: stack)
    try write("b", to: id, by: context)
    var title = AttributeValue.string("a")
    while title == .string("a"), let list = try await values.next() {
      title = try list.objects(in: stack.view).first?.value(for: "title") ?? .null
    }
    #expect(title == .string("b"))
    #expect(try track.value(for: "title") == .string("b"))
    withExtendedLifetime(container) {}
  }

  @Test(arguments: LiveStrategy.allCases.filter { $0 != .directIndependent }, Backend.available)
  func `batch requests that insert and delete members update the listed owner, also as an observed object`(
    strategy: LiveStrategy, backend: Backend
  ) throws {
    let stack = try LiveLibrary.Stack(strategy, on: backend)
    let id = try stack.write { context -> ManagedObjectID in
      let artist = try context.insertNewObject(forEntityName: "Artist")
      try artist.setValue("a", for: "name")
      try artist.setValue(1, for: "rating")
      try context.obtainPermanentIDs(for: [artist])
      return artist.objectID
    }
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<ManagedObject>(entityName: "Artist").sort("name"), managedObjectContext: stack.view)
    let log = UpdateLog()
    controller.delegate = log
    try controller.performFetch()
    let artist = try stack.view.observed(try #require(controller.fetchedObjects.first))
    for count in [1, 0] {
      let flag = Flag()
      withObservationTracking {
        _ = artist.trackCountForTests
      } onChange: {
        flag.set()
      }
      log.updated = []
      try stack.write { context in
        if count == 1 {
          let row: [String: AttributeValue] = [
            "title": .string("t"), "length": .int(1), "plays": .int(0), "artist": .reference(id),
          ]
          try context.execute(BatchInsertRequest(entityName: "Track", rows: [row]))
        } else {
          try context.execute(BatchDeleteRequest(entityName: "Track"))
        }
      }
      stack.view.performAndWait {}
      #expect(log.updated == [id])
      #expect(flag.isSet)
      #expect(artist.trackCountForTests == count)
    }
  }

  /// A controller of all tracks, whose request runs again when a tag gets another name, and the log of its updates.
  private func untagged(
    _ stack: LiveLibrary.Stack
  ) throws -> (FetchedResultsController<ManagedObject>, UpdateLog, ManagedObjectID) {
    let id = try saveTrack(stack)
    try stack.write { context in
      for name in ["x", "y"] { try context.insertNewObject(forEntityName: "Tag").setValue(name, for: "name") }
    }
    let controller = FetchedResultsController(
      fetchRequest: LiveLibrary.tracks.filter(try FetchPredicate(format: "NONE tags.name == 'z'")),
      managedObjectContext: stack.view)
    let log = UpdateLog()
    controller.delegate = log
    try controller.performFetch()
    #expect(controller.snapshot?.ids == [id])
    return (controller, log, id)
  }

  /// Saves another value of a property that the request does not read.
  private func changePlays(of id: ManagedObjectID, _ stack: LiveLibrary.Stack) throws {
    try stack.write { try $0.objects(for: [id]).first?.setValue(9, for: "plays") }
    stack.view.performAndWait {}
  }

  /// Has the request run again, and expects no update.
  private func expectNoUpdate(inNextRunOf stack: LiveLibrary.Stack, _ log: UpdateLog) throws {
    log.updated = []
    try stack.write { try rename("y", "w", in: $0) }
    stack.view.performAndWait {}
    #expect(log.updated.isEmpty)
  }

  private func rename(_ former: String, _ name: String, in context: ManagedObjectContext) throws {
    let tags = FetchRequest<ManagedObject>(entityName: "Tag").filter(try FetchPredicate(format: "name == %@", former))
    try #require(try context.fetch(tags).first).setValue(name, for: "name")
  }

  @Test(arguments: Backend.available)
  func `new members update a listed owner, also when the same save has the request run again`(
    backend: Backend
  ) throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let (controller, log, id) = try untagged(stack)
    try stack.write { context in
      let tags = try context.fetch(FetchRequest<ManagedObject>(entityName: "Tag").sort("name"))
      try context.objects(for: [id]).first?.setObjects([tags[0]], for: "tags")
      try rename("y", "w", in: context)
    }
    stack.view.performAndWait {}
    #expect(log.updated == [id])
    withExtendedLifetime(controller) {}
  }

  @Test func `new members update a listed owner, also among more changes than a context lists`() throws {
    let stack = try LiveLibrary.Stack(.direct, on: .inMemory)
    let (controller, log, id) = try untagged(stack)
    try stack.write { context in
      var tags: [ManagedObject] = []
      for number in 0...10_000 {
        let tag = try context.insertNewObject(forEntityName: "Tag")
        try tag.setValue("\(number)", for: "name")
        tags.append(tag)
      }
      try context.objects(for: [id]).first?.setObjects([tags[0]], for: "tags")
    }
    stack.view.performAndWait {}
    #expect(log.updated == [id])
    withExtendedLifetime(controller) {}
  }

  @Test(arguments: Backend.available)
  func `a change that was reported is not reported again when the request runs again`(backend: Backend) throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let (controller, log, id) = try untagged(stack)
    try changePlays(of: id, stack)
    #expect(log.updated == [id])
    try expectNoUpdate(inNextRunOf: stack, log)
    withExtendedLifetime(controller) {}
  }

  @Test(arguments: Backend.available)
  func `a change below an edit of a view that does not follow it is not reported again when the request runs again`(
    backend: Backend
  ) throws {
    let stack = try LiveLibrary.Stack(.directIndependent, on: backend)
    let (controller, log, id) = try untagged(stack)
    try #require(try stack.view.objects(for: [id]).first).setValue("edited", for: "title")
    stack.view.performAndWait {}
    try changePlays(of: id, stack)
    try expectNoUpdate(inNextRunOf: stack, log)
    withExtendedLifetime(controller) {}
  }

  @Test(arguments: Backend.available)
  func `a change of a related record is no update of a record that keeps its values and its place`(backend: Backend)
    throws
  {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let id = try saveTrack(stack)
    try stack.write { context in
      let artist = try context.insertNewObject(forEntityName: "Artist")
      try artist.setValue("a", for: "name")
      try artist.setValue(1, for: "rating")
      try context.objects(for: [id]).first?.setObject(artist, for: "artist")
    }
    let controller = FetchedResultsController(
      fetchRequest: LiveLibrary.tracks.filter(try FetchPredicate(format: "artist.rating > 0")),
      managedObjectContext: stack.view)
    let log = UpdateLog()
    controller.delegate = log
    try controller.performFetch()
    #expect(controller.snapshot?.ids == [id])
    try stack.write {
      try $0.fetch(FetchRequest<ManagedObject>(entityName: "Artist")).first?.setValue(2, for: "rating")
    }
    stack.view.performAndWait {}
    #expect(log.updated.isEmpty)
    // The track's own values.
    try stack.write { try $0.objects(for: [id]).first?.setValue("b", for: "title") }
    stack.view.performAndWait {}
    #expect(log.updated == [id])
  }

  /// The ways to ask a context for the present state of its stores.
  nonisolated private static let refreshes: [@MainActor @Sendable (ManagedObjectContext, ManagedObjectID) -> Void] = [
    { context, id in context.refresh(context.object(with: id), mergeChanges: false) },
    { context, id in context.refresh(context.object(with: id), mergeChanges: true) },
    { context, _ in context.refreshAll() },
    { context, _ in context.reset() },
  ]

  @Test(arguments: Self.refreshes.indices, Backend.available)
  func `a refresh of the context shows the saves of other coordinators in its live results`(
    way: Int, backend: Backend
  ) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let id = try saveTrack(stack)
    let track = try #require(try stack.view.objects(for: [id]).first)
    let request = LiveLibrary.tracks.filter(try FetchPredicate(format: "title == 'b'"))
    let watcher = try LiveWatcher("controller", request, in: stack.view)
    var titles = try stack.view.values(of: track, \.titleForTests).makeAsyncIterator()
    #expect(try await titles.next() == "a")
    let (container, context) = try makeStranger(of: stack)
    try write("b", to: id, by: context)
    #expect(watcher.controller.fetchedObjects.isEmpty)
    Self.refreshes[way](stack.view, id)
    #expect(watcher.controller.fetchedObjects.count == 1)
    #expect(try watcher.difference() == nil)
    #expect(try await titles.next() == "b")
    withExtendedLifetime((container, track)) {}
  }

  @Test(arguments: Backend.available)
  func `the values of one object cost nothing for changes of other records`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let id = try saveTrack(stack)
    let view = stack.view
    let track = try #require(try view.objects(for: [id]).first)
    var titles = try view.values(of: track, \.titleForTests).makeAsyncIterator()
    #expect(try await titles.next() == "a")
    let before = view.performAndWait { view.liveWork.evaluatedRows }
    let others = try stack.add("b", "c")
    try stack.write { context in
      for other in try context.objects(for: others.values) where other.objectID != id { context.delete(other) }
    }
    try view.performAndWait { try LiveLibrary.track("d", in: view) }
    #expect(view.performAndWait { view.liveWork.evaluatedRows } == before)
    try stack.write { try $0.objects(for: [id]).first?.setValue("b", for: "title") }
    #expect(try await titles.next() == "b")
  }

  @Test(arguments: Backend.available)
  func `a batch update of a property that the request does not read is reported once`(backend: Backend) throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    try stack.write { context in
      let artist = try context.insertNewObject(forEntityName: "Artist")
      try artist.setValue("artist", for: "name")
      try artist.setValue(2, for: "rating")
      try LiveLibrary.track("a", in: context).setObject(artist, for: "artist")
    }
    let request = LiveLibrary.tracks.filter(try FetchPredicate(format: "artist.rating > 1")).sort("title")
    let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: stack.view)
    try controller.performFetch()
    let log = UpdateLog()
    controller.delegate = log
    try stack.write { context in
      try context.execute(BatchUpdateRequest(entityName: "Track", values: ["plays": 8]))
    }
    stack.view.performAndWait {}
    #expect(log.updated.count == 1)
    log.updated = []
    // The save of the artist has the track evaluated again, which it does not change.
    try stack.write { context in
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Artist")).first?.setValue(3, for: "rating")
    }
    stack.view.performAndWait {}
    #expect(log.updated.isEmpty)
  }

  @Test(arguments: Backend.available)
  func `a failed stream can be asked again, and its store attached again`(backend: Backend) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let sequence = try stack.view.values(of: LiveLibrary.tracks)
    var values = sequence.makeAsyncIterator()
    try stack.coordinator.remove(stack.store)
    await #expect(throws: CoherenceError.self) { _ = try await values.next() }
    #expect(try await values.next() == nil)
    try stack.container.attachPersistentStore(for: stack.configuration)
    values = sequence.makeAsyncIterator()
    let count = try await values.next()?.count
    try stack.add("new")
    #expect(try await values.next()?.count == count.map { $0 + 1 })
  }
}

/// Collects the updated records of a controller.
private final class UpdateLog: FetchedResultsControllerDelegate {
  var updated: Set<ManagedObjectID> = []

  func controller(
    _ controller: FetchedResultsController<ManagedObject>, didChange changes: ResultChanges<ManagedObject>
  ) {
    for case .update(let id, _, _) in changes.changes { updated.insert(id) }
  }
}

/// A flag that a reader's notification sets.
private final class Flag: Sendable {
  private let state = Atomic<Bool>(false)
  var isSet: Bool { state.load(ordering: .acquiring) }
  func set() { state.store(true, ordering: .releasing) }
}

extension ManagedObject {
  fileprivate var trackCountForTests: Int { (try? objects(for: "tracks").count) ?? -1 }
  fileprivate var titleForTests: String { (try? value(for: "title", as: String.self)) ?? "" }
}
