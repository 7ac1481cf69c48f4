import CoherenceStrategies
import Dispatch
import Foundation
import TestSupport
import Testing

@testable import CoherenceCore

/// Steady turn: in a turn of the main queue, only the turn's own code changes the objects of a main-queue context.
@MainActor
@Suite("Steady turn", .timeLimit(.minutes(5)))
struct SteadyTurnTests {
  private typealias Album = TurnLibrary.Album
  private typealias Track = TurnLibrary.Track

  private nonisolated static let titles = (0..<TurnLibrary.size).map { "Album \($0)" }
  private nonisolated static let trackTitles = titles.indices.flatMap { album in
    (0..<TurnLibrary.size).map { "Track \(album).\($0)" }
  }

  // MARK: In a turn

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `values of fetched records stay when a background context deletes and changes the records`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let library = try TurnLibrary(strategy, on: backend)
    let tracks = try library.tracks()
    try library.writeOnThread(TurnLibrary.replaceEverything)
    #expect(tracks.map(\.title) == Self.trackTitles)
    #expect(library.view.reportedErrors.isEmpty)
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `later reads of a turn see the moment of its first read`(strategy: StrategyKind, backend: Backend) throws {
    let library = try TurnLibrary(strategy, on: backend)
    let view = library.view
    let first = try #require(try view.fetch(FetchRequest<Album>().sort("title").limit(1)).first)
    let trackIDs = try view.fetchIDs(FetchRequest<Track>().sort("title"))
    try library.writeOnThread(TurnLibrary.replaceEverything)
    // A list, a count, another fetch, faults, and objects by their identifiers.
    #expect(Set(first.tracks.map(\.title)) == Set(Self.trackTitles.prefix(TurnLibrary.size)))
    #expect(try view.count(for: FetchRequest<Track>()) == Self.trackTitles.count)
    #expect(try library.albums().map(\.title) == Self.titles)
    #expect(trackIDs.map { (view.object(with: $0) as? Track)?.title } == Self.trackTitles)
    #expect(try view.objects(for: trackIDs, as: Track.self).compactMap(\.album?.title).count == trackIDs.count)
    #expect(try view.performAndWait { try view.count(for: FetchRequest<Album>()) } == Self.titles.count)
    #expect(view.reportedErrors.isEmpty)
  }

  @Test(arguments: Backend.available)
  func `faults that accessors load in a turn are of one moment`(backend: Backend) async throws {
    let library = try TurnLibrary(.mixed, on: backend)
    let ids = try library.view.fetchIDs(FetchRequest<Track>().sort("title"))
    let tracks = ids.compactMap { library.view.object(with: $0) as? Track }
    await library.endTurn()
    #expect(tracks[1].title == Self.trackTitles[1])
    try library.writeOnThread(TurnLibrary.replaceEverything)
    #expect(tracks.map(\.title) == Self.trackTitles)
  }

  @Test(arguments: StrategyKind.following, Backend.available)
  func `a read after accessors have loaded faults sees the saves before the turn`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let library = try TurnLibrary(strategy, on: backend)
    let ids = try library.view.fetchIDs(FetchRequest<Track>().sort("title"))
    let tracks = ids.compactMap { library.view.object(with: $0) as? Track }
    await library.endTurn()
    try library.writeOnThread(TurnLibrary.replaceEverything)
    #expect(tracks.last?.title == "new")
    #expect(try library.albums().map(\.title) == Array(repeating: "new", count: TurnLibrary.size - 1))
  }

  @Test(arguments: Backend.available)
  func `changed objects are not notified of, and live results do not change, before the turn ends`(
    backend: Backend
  ) async throws {
    let library = try TurnLibrary(.mixed, on: backend)
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<Album>().sort("title"), managedObjectContext: library.view)
    try controller.performFetch()
    try library.writeOnThread(TurnLibrary.replaceEverything)
    #expect(try library.view.count(for: FetchRequest<Album>()) == Self.titles.count)
    #expect(controller.fetchedObjects.map(\.title) == Self.titles)
    // The context's own edits do not wait.
    let added = try Album(context: library.view)
    added.title = "Album 9"
    try library.view.processPendingChanges()
    #expect(controller.fetchedObjects.count >= Self.titles.count)
    await library.endTurn()
    await library.endTurn()
    #expect(
      controller.fetchedObjects.map(\.title) == ["Album 9"] + Array(repeating: "new", count: TurnLibrary.size - 1))
  }

  @Test(arguments: Backend.available)
  func `a child of the view on the main actor has a turn of its own`(backend: Backend) async throws {
    let library = try TurnLibrary(.mixed, on: backend)
    let child = ManagedObjectContext(concurrencyType: .mainQueue, parent: library.view)
    let albums = try child.fetch(FetchRequest<Album>().sort("title"))
    try library.writeOnThread(TurnLibrary.replaceEverything)
    #expect(albums.map(\.title) == Self.titles)
    #expect(try child.count(for: FetchRequest<Track>()) == Self.trackTitles.count)
    await library.endTurn()
    #expect(try child.count(for: FetchRequest<Track>()) == Self.trackTitles.count - TurnLibrary.size)
    // A save into the view is the turn's own.
    try child.fetch(FetchRequest<Album>()).forEach { $0.title = "of the child" }
    _ = try library.albums()
    try child.save()
    #expect(try library.albums().allSatisfy { $0.title == "of the child" })
  }

  // MARK: The end of a turn

  @Test(arguments: StrategyKind.following, Backend.available)
  func `after an await the main actor sees the saves before the end of the await`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let library = try TurnLibrary(strategy, on: backend)
    for round in 0..<20 {
      let albums = try library.albums()
      try await library.container.performBackgroundTask { context in
        for album in try context.fetch(FetchRequest<Album>()) { album.title = "round \(round)" }
        try context.save()
      }
      #expect(try library.albums().allSatisfy { $0.title == "round \(round)" })
      #expect(albums.allSatisfy { $0.title == "round \(round)" })
    }
    try await library.container.performBackgroundTask { context in
      for album in try context.fetch(FetchRequest<Album>()) { context.delete(album) }
      try context.save()
    }
    #expect(try library.view.count(for: FetchRequest<Album>()) == 0)
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `a turn that has ended holds no reader and no objects`(strategy: StrategyKind, backend: Backend) async throws {
    let library = try TurnLibrary(strategy, on: backend)
    let view = library.view
    #expect(library.readerCount == 0)
    do {
      let track = try #require(try library.tracks().last)
      #expect(track.album?.title == "Album \(TurnLibrary.size - 1)")
      #expect(library.readerCount == 1 && !view.storage.retainedReads.isEmpty)
    }
    // Nothing else happens on the main queue.
    await library.endTurn()
    #expect(library.readerCount == 0 && view.storage.retainedReads.isEmpty && view.registeredObjects.isEmpty)
    // An operation that reads nothing holds nothing.
    #expect(!view.hasChanges && library.readerCount == 0)
    // A load by an accessor.
    let fault = view.object(with: try #require(try view.fetchIDs(FetchRequest<Track>()).first)) as? Track
    await library.endTurn()
    #expect(fault?.title.hasPrefix("Track") == true && library.readerCount == 1)
    await library.endTurn()
    #expect(library.readerCount == 0)
  }

  @Test(arguments: Backend.available)
  func `perform and the blocks of other threads are units of their own, and hold no reader afterwards`(
    backend: Backend
  ) async throws {
    let library = try TurnLibrary(.mixed, on: backend)
    let view = library.view
    #expect(try await view.perform { try view.count(for: FetchRequest<Album>()) } == Self.titles.count)
    _ = try library.albums()
    let container = library.container
    let seen = try await Task.detached {
      let view = container.viewContext
      try TurnLibrary.write(in: container, TurnLibrary.replaceEverything)
      return try view.performAndWait { (try view.count(for: FetchRequest<Album>()), view.lease.readerCount) }
    }.value
    #expect(seen == (Self.titles.count - 1, 1))
    #expect(library.readerCount == 0)
  }

  @Test(arguments: Backend.available)
  func `a context that is released in its turn releases its readers`(backend: Backend) throws {
    let library = try TurnLibrary(.mixed, on: backend)
    var context: ManagedObjectContext? = ManagedObjectContext(
      concurrencyType: .mainQueue, coordinator: library.container.persistentStoreCoordinator)
    weak let released = context
    _ = try context?.fetch(FetchRequest<Album>())
    context = nil
    #expect(released == nil)
  }

  // MARK: The turn's own saves

  @Test(arguments: StrategyKind.following, Backend.available)
  func `a save by the turn's own code is seen by the next read and the next accessor`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let library = try TurnLibrary(strategy, on: backend)
    let view = library.view
    let ids = try view.fetchIDs(FetchRequest<Track>().sort("title"))
    let tracks = ids.compactMap { view.object(with: $0) as? Track }
    #expect(tracks[0].title == Self.trackTitles[0])
    try TurnLibrary.write(in: library.container, TurnLibrary.replaceEverything)
    #expect(tracks.last?.title == "new")
    #expect(try view.count(for: FetchRequest<Album>()) == Self.titles.count - 1)
    // A batch request in the background, and the view's own save.
    let background = library.container.newBackgroundContext()
    try background.performAndWait { _ = try background.execute(BatchDeleteRequest(entityName: "Track")) }
    #expect(try library.tracks().isEmpty)
    try Album(context: view).title = "own"
    try view.save()
    #expect(try library.albums().count == Self.titles.count)
    // Saves of the turn in the middle of a block.
    try view.performAndWait {
      #expect(try view.count(for: FetchRequest<Album>()) == Self.titles.count)
      try TurnLibrary.write(in: library.container) { try Album(context: $0).title = "in the middle" }
      #expect(try view.count(for: FetchRequest<Album>()) == Self.titles.count + 1)
    }
  }

  @Test(arguments: Backend.available)
  func `a save by the turn's own code through another container of the store is seen`(backend: Backend) throws {
    let stack = try Stack(.mixed, on: backend)
    let stranger = try stack.makeStranger()
    #expect(try stack.view.count(for: FetchRequest(ContainerUser.self)) == 0)
    let context = stranger.newBackgroundContext()
    try context.performAndWait {
      _ = try ContainerUser.insert(named: "ada", into: context)
      try context.save()
    }
    #expect(try stack.view.count(for: FetchRequest(ContainerUser.self)) == 1)
  }

  @Test(arguments: Backend.available)
  func `a save by the turn's own code in another store leaves the values alone`(backend: Backend) throws {
    let (library, other) = (try TurnLibrary(.mixed, on: backend), try TurnLibrary(.mixed, on: backend))
    let albums = try library.albums()
    try library.writeOnThread(TurnLibrary.replaceEverything)
    try TurnLibrary.write(in: other.container, TurnLibrary.replaceEverything)
    #expect(try library.view.count(for: FetchRequest<Album>()) == Self.titles.count)
    #expect(albums.map(\.title) == Self.titles)
    #expect(try other.albums().count == Self.titles.count - 1)
  }

  @Test(arguments: StrategyKind.following, Backend.available)
  func `a save of the view begins with the saves of others, and edits of different records do not conflict`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let library = try TurnLibrary(strategy, on: backend)
    let albums = try library.albums()
    albums[1].title = "edited"
    let (gone, changed) = (albums[0].objectID, albums[2].objectID)
    try library.writeOnThread { context in
      (try context.existingObject(with: changed) as? Album)?.title = "theirs"
      context.delete(try context.existingObject(with: gone))
    }
    #expect(albums[2].title == Self.titles[2])
    try library.view.save()
    #expect(albums[2].title == "theirs" && albums[1].title == "edited" && albums[0].managedObjectContext == nil)
  }

  @Test(arguments: Backend.available)
  func `a refresh, a rollback, a reset and the end of a snapshot let the turn see the saves of others`(backend: Backend)
    throws
  {
    let library = try TurnLibrary(.mixed, on: backend)
    let view = library.view
    func add() throws { try library.writeOnThread { try Album(context: $0).title = "added" } }
    var count = try library.albums().count
    for refresh in [{ view.refreshAll() }, { view.rollback() }, { view.reset() }, { view.withSnapshot {} }] {
      try add()
      #expect(try view.count(for: FetchRequest<Album>()) == count)
      refresh()
      count += 1
      #expect(try view.count(for: FetchRequest<Album>()) == count)
    }
    try add()
    try view.withSnapshot {
      count += 1
      #expect(try view.count(for: FetchRequest<Album>()) == count)
      try add()
      #expect(try library.albums().count == count)
    }
  }

  // MARK: Under load

  /// Each save replaces the tracks of an album and renames the album after them, so that every state of the store has as
  /// many tracks, each with the name of its album.
  private nonisolated static func replaceTracks(in container: any PersistentContainer, _ number: Int) throws {
    try TurnLibrary.write(in: container) { context in
      let album = try context.fetch(FetchRequest<Album>().sort("title"))[number % TurnLibrary.size]
      album.title = "\(number)"
      album.tracks.forEach { context.delete($0) }
      for _ in 0..<TurnLibrary.size {
        let track = try Track(context: context)
        track.title = "\(number)"
        track.album = album
      }
    }
  }

  @Test(arguments: StrategyKind.following, Backend.available)
  func `each turn sees one state while a background context saves again and again`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let library = try TurnLibrary(strategy, on: backend)
    let (container, view) = (library.container, library.view)
    for number in 0..<TurnLibrary.size { try Self.replaceTracks(in: container, number) }
    await library.endTurn()
    async let saves: Void = Task(executorPreference: ThreadExecutor()) {
      for number in 0..<200 { try Self.replaceTracks(in: container, number) }
    }.value
    var kept: [Album] = []
    for turn in 0..<300 {
      let albums = try library.albums()
      #expect(albums.count == TurnLibrary.size)
      // Once by lists, and once by faults, with other operations in between.
      let members = albums.map { Array($0.tracks) }
      #expect(try view.count(for: FetchRequest<Track>()) == TurnLibrary.size * TurnLibrary.size)
      #expect(members.map(\.count) == Array(repeating: TurnLibrary.size, count: TurnLibrary.size), "turn \(turn)")
      for (album, tracks) in zip(albums, members) {
        let titles = tracks.map(\.title)
        guard titles.allSatisfy({ $0 == album.title }) else {
          Issue.record("Turn \(turn): the tracks \(titles) are not those of '\(album.title)'.")
          break
        }
      }
      let ids = try view.fetchIDs(FetchRequest<Track>())
      #expect(ids.allSatisfy { id in (view.object(with: id) as? Track).map { $0.title == $0.album?.title } == true })
      kept = albums
      await Task.yield()
    }
    try await saves
    #expect(view.reportedErrors.isEmpty && kept.count == TurnLibrary.size)
  }

  // MARK: Connections

  @Test(arguments: Backend.available)
  func `with a pool of two, a turn reads in several contexts and saves`(backend: Backend) throws {
    let library = try TurnLibrary(.mixed, on: backend, poolSize: 2)
    let view = library.view
    let child = ManagedObjectContext(concurrencyType: .mainQueue, parent: view)
    for round in 0..<5 {
      let albums = try library.albums()
      #expect(try child.count(for: FetchRequest<Album>()) == albums.count)
      try TurnLibrary.write(in: library.container) { context in
        for album in try context.fetch(FetchRequest<Album>()) { album.title = "round \(round)" }
      }
      try library.writeOnThread { context in
        let count = try context.count(for: FetchRequest<Album>())
        #expect(count == Self.titles.count)
      }
      #expect(try library.albums().allSatisfy { $0.title == "round \(round)" })
      albums[round].title = "view \(round)"
      try view.save()
      #expect(try view.count(for: FetchRequest<Track>()) == Self.trackTitles.count)
    }
  }

  @Test(arguments: Backend.available)
  func `a store is detached in the middle of a turn`(backend: Backend) throws {
    let stack = try Stack(.mixed, on: backend)
    #expect(try stack.view.count(for: FetchRequest(ContainerUser.self)) == 0 && stack.view.lease.readerCount == 1)
    try stack.container.detach(persistentStore: stack.store)
    #expect(stack.view.lease.readerCount == 0)
    #expect { try stack.view.fetch(FetchRequest(ContainerUser.self)) } throws: { ErrorCode.contextWithoutStore ~= $0 }
  }

  @Test(arguments: Backend.availableSQL)
  func `a walk in a turn takes the statements of a walk in one block`(backend: Backend) async throws {
    let stack = try LoggedStore(backend, TurnLibrary.model)
    defer { stack.close() }
    let log = stack.log
    let view = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: stack.coordinator)
    try TurnLibrary.fill(view)
    try view.save()
    await Task.yield()
    func walk() throws -> Int {
      log.removeAll()
      let albums = try view.fetch(FetchRequest<Album>().sort("title"))
      #expect(albums.reduce(0) { $0 + $1.tracks.map(\.title).count } == Self.trackTitles.count)
      let tracks = try view.fetch(FetchRequest<Track>())
      #expect(tracks.compactMap(\.album?.title).count == Self.trackTitles.count)
      return log.reads.count
    }
    let inBlock = try view.performAndWait(walk)
    await Task.yield()
    #expect(try walk() == inBlock && inBlock == 3)
    await Task.yield()
    // The objects that a turn has read stay for the turn.
    _ = try view.fetch(FetchRequest<Track>()).compactMap(\.album?.title)
    log.removeAll()
    let albums = try view.fetchIDs(FetchRequest<Album>()).map { view.object(with: $0) as? Album }
    #expect(albums.allSatisfy { $0?.title.hasPrefix("Album") == true } && log.reads.count == 1)
  }
}
