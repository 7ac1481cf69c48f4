import CoherenceCore
import CoherenceStrategies
import Foundation
import Observation
import Testing
import TestSupport

/// Objects and results whose readers Swift's Observation tracks.
@MainActor
@Suite("Observed objects and results", .timeLimit(.minutes(15)))
struct ObservedObjectTests {
  /// A track with typed properties.
  private final class Track: ManagedObject {
    var title: String {
      get { self[AttributeKey<String>("title")] }
      set { self[AttributeKey<String>("title")] = newValue }
    }
    var genre: String? {
      get { self[AttributeKey<String?>("genre")] }
      set { self[AttributeKey<String?>("genre")] = newValue }
    }
    var others: ToMany<Track> { self[ToManyKey<Track>("others")] }

    static var all: FetchRequest<Track> { FetchRequest(entityName: "Track") }
    static func titled(_ title: String) throws -> FetchRequest<Track> {
      all.filter(try FetchPredicate(format: "title == %@", title))
    }
  }

  /// A container with an own store.
  private struct Stack {
    let container: GenericPersistentContainer<ContextStrategy.Direct>
    private let directory = TemporaryDirectory()

    @MainActor var view: ManagedObjectContext { container.viewContext }

    init(_ backend: Backend) throws {
      let model = try ManagedObjectModel {
        Entity("Track", class: Track.self) {
          Attribute("title", .string)
          Attribute("genre", .string, optional: true)
          Relationship("others", toMany: "Track", inverse: "others")
        }
      }
      container = GenericPersistentContainer(
        name: "Observed", managedObjectModel: model, storeLocation: directory.url)
      try container.attachPersistentStore(for: backend.newConfiguration())
    }

    func write(_ body: (ManagedObjectContext) throws -> Void) throws {
      try container.newBackgroundContext().saving(body)
    }

    @MainActor func savedTrack(_ title: String) throws -> Track {
      try write { try Track(context: $0).title = title }
      return try #require(try view.fetch(Track.titled(title)).first)
    }
  }

  /// The only owner of an observed result or object.
  @MainActor private final class Owner {
    var result: ObservedResult<Track>?
    var object: ObservedObject<Track>?
    private(set) var releases = 0

    func release() {
      releases += 1
      (result, object) = (nil, nil)
    }
  }

  @Test(arguments: Backend.available)
  func `a reader of a property is notified of its change by another context, and not of changes of others`(
    backend: Backend
  ) throws {
    let stack = try Stack(backend)
    let track = try stack.view.observed(stack.savedTrack("a"))
    let (title, genre) = (ObservationReader(), ObservationReader())
    title.follow { _ = track.title }
    genre.follow { _ = track.genre }
    try stack.write { try $0.fetch(Track.all).first?.title = "b" }
    stack.view.performAndWait {}
    #expect(title.notifications == 1 && genre.notifications == 0)
    #expect(track.title == "b")
    genre.follow { _ = track.genre }
    try stack.write { try $0.fetch(Track.all).first?.genre = "x" }
    stack.view.performAndWait {}
    #expect(genre.notifications == 2)
    #expect(track.genre == "x")
  }

  @Test func `a write through an observed object notifies the readers of the property at once`() throws {
    let stack = try Stack(.inMemory)
    let track = try stack.view.observed(stack.savedTrack("a"))
    let (title, genre) = (ObservationReader(), ObservationReader())
    title.follow { _ = track.title }
    genre.follow { _ = track.genre }
    track.title = "b"
    #expect(title.notifications == 1 && genre.notifications == 0)
    title.follow { _ = track.title }
    stack.view.performAndWait {}
    // The end of the turn has nothing new for the reader.
    #expect(title.notifications == 1)
    #expect(track.object.title == "b")
  }

  @Test(arguments: ["b", "a"])
  func `an edit that another reader has read before the end of the turn notifies both readers`(last: String) throws {
    let stack = try Stack(.inMemory)
    let object = try stack.savedTrack("a")
    let track = try stack.view.observed(object)
    let (first, second) = (ObservationReader(), ObservationReader())
    first.follow { _ = track.title }
    stack.view.performAndWait {
      object.title = "b"
      second.follow { _ = track.title }
      object.title = last
    }
    #expect(first.notifications == 1 && second.notifications == 1)
    #expect(track.title == last)
  }

  @Test(arguments: Backend.available)
  func `edits of the object, a rollback and a save notify at the end of the turn`(backend: Backend) throws {
    let stack = try Stack(backend)
    let object = try stack.savedTrack("a")
    let track = try stack.view.observed(object)
    let title = ObservationReader()
    title.follow { _ = track.title }
    stack.view.performAndWait { object.title = "b" }
    #expect(title.notifications == 1)
    title.follow { _ = track.title }
    stack.view.performAndWait { stack.view.rollback() }
    #expect(title.notifications == 2 && track.title == "a")
  }

  @Test(arguments: Backend.available)
  func `an observed object is followed under its permanent identifier after its first save`(
    backend: Backend
  ) throws {
    let stack = try Stack(backend)
    let object = try Track(context: stack.view)
    object.title = "a"
    let track = try stack.view.observed(object)
    let title = ObservationReader()
    title.follow { _ = (track.title, track.isDeleted) }
    try stack.view.performAndWait { try stack.view.save() }
    #expect(title.notifications == 0 && !track.isDeleted)
    try stack.write { try $0.fetch(Track.all).first?.title = "b" }
    stack.view.performAndWait {}
    #expect(title.notifications == 1 && track.title == "b")
  }

  @Test(arguments: Backend.available)
  func `the deletion of the record notifies the readers of isDeleted`(backend: Backend) throws {
    let stack = try Stack(backend)
    let track = try stack.view.observed(stack.savedTrack("a"))
    let reader = ObservationReader()
    reader.follow { _ = track.isDeleted }
    try stack.write { context in for object in try context.fetch(Track.all) { context.delete(object) } }
    stack.view.performAndWait {}
    #expect(reader.notifications == 1)
    #expect(track.isDeleted && track.title.isEmpty)
  }

  @Test(arguments: Backend.available)
  func `a rollback of the delete notifies the readers of isDeleted, and the object is followed again`(
    backend: Backend
  ) throws {
    let stack = try Stack(backend)
    let object = try stack.savedTrack("a")
    let track = try stack.view.observed(object)
    stack.view.performAndWait { stack.view.delete(object) }
    #expect(track.isDeleted)
    let (deletion, title) = (ObservationReader(), ObservationReader())
    deletion.follow { _ = track.isDeleted }
    stack.view.performAndWait { stack.view.rollback() }
    #expect(deletion.notifications == 1)
    #expect(!track.isDeleted && track.title == "a")
    title.follow { _ = track.title }
    try stack.write { try $0.fetch(Track.all).first?.title = "b" }
    stack.view.performAndWait {}
    #expect(title.notifications == 1 && track.title == "b")
  }

  @Test func `the observation of a deleted object shows the deletion at once`() throws {
    let stack = try Stack(.inMemory)
    let object = try stack.savedTrack("a")
    let isDeleted = try stack.view.performAndWait {
      stack.view.delete(object)
      return try stack.view.observed(object).isDeleted
    }
    #expect(isDeleted)
  }

  @Test(arguments: Backend.available)
  func `an observed object follows its record after a reset of the context`(backend: Backend) throws {
    let stack = try Stack(backend)
    let former = try stack.savedTrack("a")
    let track = try stack.view.observed(former)
    let title = ObservationReader()
    title.follow { _ = track.title }
    stack.view.performAndWait { stack.view.reset() }
    #expect(track.title == "a" && track.object !== former)
    try stack.write { try $0.fetch(Track.all).first?.title = "b" }
    stack.view.performAndWait {}
    #expect(title.notifications == 1 && track.title == "b")
    track.title = "c"
    try stack.view.save()
    #expect(try stack.view.fetch(Track.titled("c")).count == 1)
  }

  @Test(arguments: Backend.available, [false, true])
  func `an object observed before its first save is followed after a reset, at no cost for other records`(
    backend: Backend, resetsInBlock: Bool
  ) throws {
    let stack = try Stack(backend)
    let view = stack.view
    let object = try Track(context: view)
    object.title = "a"
    let track = try view.observed(object)
    try view.performAndWait {
      try view.save()
      if resetsInBlock { view.reset() }
    }
    view.performAndWait { view.reset() }
    #expect(track.object.title == "a" && track.object.managedObjectContext === view)
    #expect(!track.isDeleted && track.title == "a")
    let before = view.performAndWait { view.liveWork.evaluatedRows }
    try stack.write { try Track(context: $0).title = "other" }
    #expect(view.performAndWait { view.liveWork.evaluatedRows } == before)
    try stack.write { try $0.fetch(Track.titled("a")).first?.title = "b" }
    view.performAndWait {}
    #expect(track.title == "b")
  }

  @Test(arguments: Backend.available)
  func `a new member notifies the readers of a to-many relationship`(backend: Backend) throws {
    let stack = try Stack(backend)
    let track = try stack.view.observed(stack.savedTrack("a"))
    let reader = ObservationReader()
    reader.follow { _ = track.others.count }
    try stack.write { context in
      let other = try Track(context: context)
      other.title = "b"
      other.others.insert(try #require(try context.fetch(Track.titled("a")).first))
    }
    stack.view.performAndWait {}
    #expect(reader.notifications == 1 && track.others.count == 1)
  }

  @Test func `an observed object retains neither itself nor its readers`() throws {
    let stack = try Stack(.inMemory)
    weak var released: ObservedObject<Track>?
    do {
      let track = try stack.view.observed(stack.savedTrack("a"))
      ObservationReader().follow { _ = track.title }
      released = track
    }
    #expect(released == nil)
    try stack.write { try $0.fetch(Track.all).first?.title = "b" }
    stack.view.performAndWait {}
  }

  @Test func `a detached store is an error of the observed object and of the observed result`() throws {
    let stack = try Stack(.inMemory)
    let track = try stack.view.observed(stack.savedTrack("a"))
    let tracks = try stack.view.observed(Track.all)
    let reader = ObservationReader()
    reader.follow { _ = (track.error, tracks.error) }
    for store in stack.container.persistentStoreCoordinator.persistentStores {
      try stack.container.persistentStoreCoordinator.remove(store)
    }
    stack.view.performAndWait {}
    #expect(reader.notifications == 1)
    #expect(track.error.map { ErrorCode.storeDetached ~= $0 } == true)
    #expect(tracks.error.map { ErrorCode.storeDetached ~= $0 } == true)
  }

  // MARK: Results

  @Test(arguments: Backend.available)
  func `a reader of a result is notified of its changes, and not of others`(backend: Backend) throws {
    let stack = try Stack(backend)
    let first = try stack.savedTrack("a")
    let request = Track.all.filter(try FetchPredicate(format: "genre == nil")).sort("title")
    let tracks = try stack.view.observed(request, sectionKeyPath: "title")
    let reader = ObservationReader()
    reader.follow { _ = (tracks.objects, tracks.sections) }
    try stack.write { context in
      let other = try Track(context: context)
      (other.title, other.genre) = ("b", "x")
    }
    stack.view.performAndWait {}
    #expect(reader.notifications == 0)
    try stack.write { try Track(context: $0).title = "c" }
    stack.view.performAndWait {}
    #expect(reader.notifications == 1)
    #expect(tracks.objects.map(\.title) == ["a", "c"] && tracks.sections.map(\.name) == ["a", "c"])
    reader.follow { _ = tracks.objects }
    stack.view.performAndWait { first.title = "d" }
    #expect(reader.notifications == 2)
    #expect(tracks.objects.map(\.title) == ["c", "d"])
  }

  @Test(arguments: Backend.available)
  func `a reader of the list alone, and a reader of the sections alone, is notified of a change`(
    backend: Backend
  ) throws {
    let stack = try Stack(backend)
    let tracks = try stack.view.observed(Track.all.sort("title"), sectionKeyPath: "title")
    let (list, sections) = (ObservationReader(), ObservationReader())
    list.follow { _ = tracks.list }
    sections.follow { _ = tracks.sections }
    try stack.write { try Track(context: $0).title = "a" }
    stack.view.performAndWait {}
    #expect(list.notifications == 1 && sections.notifications == 1)
    #expect(tracks.list.count == 1 && tracks.sections.count == 1)
  }

  @Test(arguments: Backend.available)
  func `an observed result may be released by its reader in the middle of its delivery`(backend: Backend) throws {
    let stack = try Stack(backend)
    let owner = Owner()
    owner.result = try stack.view.observed(Track.all.sort("title"))
    weak let released = owner.result
    withObservationTracking {
      _ = owner.result?.objects
    } onChange: {
      MainActor.assumeIsolated { owner.release() }
    }
    for title in ["a", "b"] {
      try stack.write { try Track(context: $0).title = title }
      stack.view.performAndWait {}
    }
    #expect(owner.releases == 1)
    #expect(released == nil)
    #expect(try stack.view.fetch(Track.all.sort("title")).map(\.title) == ["a", "b"])
  }

  @Test(arguments: Backend.available)
  func `an observed object may be released by its reader in the middle of its delivery`(backend: Backend) throws {
    let stack = try Stack(backend)
    let owner = Owner()
    owner.object = try stack.view.observed(stack.savedTrack("a"))
    let other = try stack.view.observed(Track.all)
    let reader = ObservationReader()
    reader.follow { _ = other.objects }
    weak let released = owner.object
    withObservationTracking {
      _ = (owner.object?.title, owner.object?.genre)
    } onChange: {
      MainActor.assumeIsolated { owner.release() }
    }
    for title in ["b", "c"] {
      try stack.write { context in
        let track = try #require(try context.fetch(Track.all).first)
        (track.title, track.genre) = (title, title)
      }
      stack.view.performAndWait {}
    }
    #expect(owner.releases == 1)
    #expect(released == nil)
    // The other results of the context receive the change.
    #expect(reader.notifications == 1 && other.objects.map(\.title) == ["c"])
  }

  @Test func `a section key path other than the first sort key is refused`() throws {
    let stack = try Stack(.inMemory)
    #expect {
      try stack.view.observed(Track.all.sort("title"), sectionKeyPath: "genre")
    } throws: {
      ErrorCode.invalidFetchRequest ~= $0
    }
  }
}
