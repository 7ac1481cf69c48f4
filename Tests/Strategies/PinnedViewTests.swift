import CoherenceStrategies
import Dispatch
import Foundation
import TestSupport
import Testing

@testable import CoherenceCore

/// Snapshots that the view keeps from turn to turn of the main queue.
@MainActor
@Suite("Pinned view", .timeLimit(.minutes(5)))
struct PinnedViewTests {
  private typealias Album = TurnLibrary.Album
  private typealias Track = TurnLibrary.Track

  private nonisolated static let titles = (0..<TurnLibrary.size).map { "Album \($0)" }
  private nonisolated static let trackCount = TurnLibrary.size * TurnLibrary.size

  /// The titles of the albums after ``TurnLibrary/replaceEverything(in:)``.
  private nonisolated static let replaced = Array(repeating: "new", count: TurnLibrary.size - 1)

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `a pinned view shows one moment in all turns until it moves forward`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let library = try TurnLibrary(strategy, on: backend)
    let view = library.view
    try view.pinSnapshot()
    let albums = try library.albums()
    try await library.container.performBackgroundTask { context in
      try TurnLibrary.replaceEverything(in: context)
      try context.save()
    }
    await library.endTurn()
    #expect(albums.map(\.title) == Self.titles)
    #expect(albums.map(\.tracks.count) == Array(repeating: TurnLibrary.size, count: TurnLibrary.size))
    await library.endTurn()
    #expect(try library.albums().map(\.title) == Self.titles)
    #expect(try library.tracks().compactMap(\.album?.title).count == Self.trackCount)
    #expect(try await view.perform { try view.count(for: FetchRequest<Track>()) } == Self.trackCount)
    #expect(library.readerCount == 1)
    try view.advanceSnapshot()
    #expect(albums.dropFirst().map(\.title) == Self.replaced && albums[0].managedObjectContext == nil)
    #expect(try library.albums().map(\.title) == Self.replaced)
    try library.writeOnThread { try Album(context: $0).title = "later" }
    await library.endTurn()
    #expect(try view.count(for: FetchRequest<Album>()) == Self.replaced.count)
    view.unpinSnapshot()
    #expect(try view.count(for: FetchRequest<Album>()) == Self.replaced.count + 1)
    await library.endTurn()
    #expect(library.readerCount == 0 && view.reportedErrors.isEmpty)
  }

  @Test(arguments: StrategyKind.following, Backend.available)
  func `a save of a pinned view moves its snapshot forward`(strategy: StrategyKind, backend: Backend) async throws {
    let library = try TurnLibrary(strategy, on: backend)
    try library.view.pinSnapshot()
    let albums = try library.albums()
    let other = albums[2].objectID
    try library.writeOnThread { (try $0.existingObject(with: other) as? Album)?.title = "theirs" }
    await library.endTurn()
    albums[1].title = "own"
    #expect(albums[2].title == Self.titles[2])
    try library.view.save()
    #expect(albums[2].title == "theirs" && albums[1].title == "own")
    try library.writeOnThread { (try $0.existingObject(with: other) as? Album)?.title = "later" }
    await library.endTurn()
    #expect(try library.albums().map(\.title).contains("theirs") && library.view.hasPinnedSnapshot)
    // A save by the turn's own code in another context is one of the saves that wait.
    try TurnLibrary.write(in: library.container) { try Album(context: $0).title = "background" }
    #expect(try library.view.count(for: FetchRequest<Album>()) == TurnLibrary.size)
    library.view.unpinSnapshot()
    #expect(try library.view.count(for: FetchRequest<Album>()) == TurnLibrary.size + 1)
  }

  @Test(arguments: Backend.available)
  func `a list on the screen moves with the snapshot, at once`(backend: Backend) async throws {
    let library = try TurnLibrary(.mixed, on: backend)
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<Album>().sort("title"), managedObjectContext: library.view)
    try controller.performFetch()
    try library.view.pinSnapshot()
    try await library.container.performBackgroundTask { context in
      try TurnLibrary.replaceEverything(in: context)
      try context.save()
    }
    for _ in 0..<3 { await library.endTurn() }
    #expect(controller.fetchedObjects.map(\.title) == Self.titles)
    try library.view.advanceSnapshot()
    #expect(controller.fetchedObjects.map(\.title) == Self.replaced)
    try Album(context: library.view).title = "edit"
    await library.endTurn()
    #expect(controller.fetchedObjects.map(\.title) == ["edit"] + Self.replaced)
    try library.writeOnThread { try Album(context: $0).title = "later" }
    for _ in 0..<3 { await library.endTurn() }
    #expect(controller.fetchedObjects.map(\.title) == ["edit"] + Self.replaced)
    library.view.unpinSnapshot()
    #expect(controller.fetchedObjects.map(\.title) == ["edit", "later"] + Self.replaced)
  }

  @Test(arguments: Backend.available)
  func `an idle view with a pinned snapshot and live results does nothing`(backend: Backend) async throws {
    let library = try TurnLibrary(.mixed, on: backend)
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<Album>().sort("title"), managedObjectContext: library.view)
    try controller.performFetch()
    try library.view.pinSnapshot()
    await library.endTurn()
    try await library.container.performBackgroundTask { context in
      try TurnLibrary.replaceEverything(in: context)
      try context.save()
    }
    for _ in 0..<5 { await library.endTurn() }
    let runs = library.view.liveWork.runs
    let unit = library.view.storage.unit
    for _ in 0..<100 { await library.endTurn() }
    #expect(library.view.liveWork.runs == runs && library.view.storage.unit == unit)
    #expect(controller.fetchedObjects.map(\.title) == Self.titles)
  }

  @Test(arguments: Backend.available)
  func `a released view with a pinned snapshot is forgotten by its coordinator`(backend: Backend) throws {
    let library = try TurnLibrary(.mixed, on: backend)
    let coordinator = library.container.persistentStoreCoordinator
    var context: ManagedObjectContext? = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: coordinator)
    weak let released = context
    try context?.pinSnapshot(unreadLimit: .seconds(3600))
    #expect(coordinator.lastingReaders.count == 1)
    context = nil
    #expect(released == nil && coordinator.lastingReaders.count == 0)
  }

  @Test(arguments: Backend.available)
  func `a store that a pinned view has read is detached and erased by the main actor`(backend: Backend) throws {
    let stack = try Stack(.mixed, on: backend)
    try stack.view.pinSnapshot()
    #expect(try stack.view.count(for: FetchRequest(ContainerUser.self)) == 0 && stack.view.lease.readerCount == 1)
    try stack.container.detach(persistentStore: stack.store)
    #expect(stack.view.lease.readerCount == 0)
    #expect { try stack.view.fetch(FetchRequest(ContainerUser.self)) } throws: { ErrorCode.contextWithoutStore ~= $0 }
    stack.view.unpinSnapshot()
  }

  @Test(arguments: Backend.available)
  func `with a pool of two, pinned views and background contexts read and save beside each other`(
    backend: Backend
  ) async throws {
    let library = try TurnLibrary(.mixed, on: backend, poolSize: 2)
    let (view, container) = (library.view, library.container)
    let other = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: container.persistentStoreCoordinator)
    try view.pinSnapshot()
    for round in 0..<5 {
      try other.pinSnapshot()
      async let background: Void = container.performBackgroundTask { context in
        for album in try context.fetch(FetchRequest<Album>()) { album.title = "round \(round)" }
        try context.save()
      }
      #expect(try view.count(for: FetchRequest<Album>()) == TurnLibrary.size)
      try await background
      #expect(try other.fetch(FetchRequest<Album>()).allSatisfy { $0.title != "round \(round)" })
      #expect(try library.albums().map(\.title) == Self.titles)
    }
    try view.advanceSnapshot()
    #expect(try library.albums().allSatisfy { $0.title == "round 4" })
  }

  // MARK: Hooks

  private final class Hooked: ManagedObject {
    @MainActor static var onSave: (@MainActor (ManagedObjectContext) -> Void)?
    override func didSave() {
      guard let context = managedObjectContext else { return }
      MainActor.assumeIsolated { Self.onSave?(context) }
    }
  }

  @Test(arguments: Backend.available)
  func `a hook of a save may end the snapshot, which the coordinator forgets, and pins none`(backend: Backend) throws {
    let model = try ManagedObjectModel {
      Entity("Hooked", class: Hooked.self) { Attribute("name", .string, optional: true) }
    }
    let directory = TemporaryDirectory()
    let container = StrategyKind.mixed.makeContainer(model: model, in: directory)
    try container.attachPersistentStore(for: backend.newConfiguration())
    let view = container.viewContext
    defer { Hooked.onSave = nil }
    try view.pinSnapshot()
    var failure: (any Error)?
    Hooked.onSave = { context in
      do { try context.advanceSnapshot() } catch { failure = error }
    }
    _ = try Hooked(context: view)
    try view.save()
    #expect(failure.map { ErrorCode.illegalState ~= $0 } == true && view.hasPinnedSnapshot)
    Hooked.onSave = { $0.unpinSnapshot() }
    _ = try Hooked(context: view)
    try view.save()
    #expect(!view.hasPinnedSnapshot && view.lease.pins == 0)
    #expect(container.persistentStoreCoordinator.lastingReaders.count == 0 && view.storage.pinning.watch == nil)
    #expect(try view.count(for: FetchRequest<Hooked>()) == 2)
  }
}
