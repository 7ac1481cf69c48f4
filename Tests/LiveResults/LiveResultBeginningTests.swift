import CoherenceCore
import CoherenceStrategies
import Testing
import TestSupport

/// Live results that begin in the middle of a unit of work, beside saves of other contexts, and requests that name
/// unsaved records.
@MainActor
@Suite("Beginnings of live results", .timeLimit(.minutes(15)))
struct LiveResultBeginningTests {
  private typealias Controller = FetchedResultsController<ManagedObject>

  /// Gives the only artist a name and a rating.
  private func write(_ name: String, rating: Int, in stack: LiveLibrary.Stack) throws {
    try stack.write { context in
      let artists = try context.fetch(FetchRequest<ManagedObject>(entityName: "Artist"))
      let artist = try artists.first ?? context.insertNewObject(forEntityName: "Artist")
      try artist.setValue(name, for: "name")
      try artist.setValue(rating, for: "rating")
    }
  }

  @Test(arguments: Backend.available)
  func `a result that begins after a read of the block shows a save between the two after the block`(
    backend: Backend
  ) throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let context = ManagedObjectContext(coordinator: stack.coordinator)
    let controller = Controller(fetchRequest: LiveLibrary.tracks, managedObjectContext: context)
    try context.performAndWait {
      _ = try context.fetchIDs(LiveLibrary.tracks)
      try stack.write { _ = try LiveLibrary.track("a", in: $0) }
      try controller.performFetch()
    }
    #expect(context.performAndWait { controller.fetchedObjects.count } == 1)
  }

  @Test(arguments: Backend.available)
  func `a result that begins in a snapshot shows the saves since the snapshot after the block`(
    backend: Backend
  ) throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let context = ManagedObjectContext(coordinator: stack.coordinator)
    let controller = Controller(fetchRequest: LiveLibrary.tracks, managedObjectContext: context)
    try context.performAndWait {
      try context.withSnapshot {
        _ = try context.fetchIDs(LiveLibrary.tracks)
        try stack.write { _ = try LiveLibrary.track("a", in: $0) }
        try controller.performFetch()
        #expect(controller.fetchedObjects.isEmpty)
      }
    }
    #expect(context.performAndWait { controller.fetchedObjects.count } == 1)
  }

  @Test(arguments: Backend.available)
  func `a result keeps values that it has read after a save for an earlier result of the context`(
    backend: Backend
  ) throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    try write("x", rating: 1, in: stack)
    let context = ManagedObjectContext(coordinator: stack.coordinator)
    let names = Controller(fetchRequest: LiveLibrary.tracks.sort("artist.name"), managedObjectContext: context)
    let good = FetchRequest<ManagedObject>(entityName: "Artist").filter(try FetchPredicate(format: "rating > 5"))
    let artists = Controller(fetchRequest: good.sort("name"), managedObjectContext: context)
    try context.performAndWait { try names.performFetch() }
    try context.performAndWait {
      // The order of the tracks reads the names of artists, and not their ratings.
      try write("y", rating: 1, in: stack)
      try write("y", rating: 9, in: stack)
      try artists.performFetch()
    }
    #expect(context.performAndWait { artists.fetchedObjects.count } == 1)
    withExtendedLifetime(names) {}
  }

  @Test(arguments: Backend.available, [false, true])
  func `a request that names an unsaved record finds the same records after the save and a reset`(
    backend: Backend, resetsInBlock: Bool
  ) throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let view = stack.view
    let artist = try view.insertNewObject(forEntityName: "Artist")
    try artist.setValue("x", for: "name")
    try artist.setValue(1, for: "rating")
    try LiveLibrary.track("a", in: view).setObject(artist, for: "artist")
    let isByArtist = FetchPredicate.comparison(
      .path(PropertyPath("artist")), .equal, .value(.reference(artist.objectID)))
    let controller = Controller(fetchRequest: LiveLibrary.tracks.filter(isByArtist), managedObjectContext: view)
    try controller.performFetch()
    #expect(controller.fetchedObjects.count == 1)
    try view.performAndWait {
      try view.save()
      if resetsInBlock { view.reset() }
    }
    view.reset()
    #expect(controller.fetchedObjects.count == 1)
    try stack.write { context in
      let artist = try context.fetch(FetchRequest<ManagedObject>(entityName: "Artist"))[0]
      try LiveLibrary.track("b", in: context).setObject(artist, for: "artist")
    }
    #expect(controller.fetchedObjects.count == 2)
  }
}
