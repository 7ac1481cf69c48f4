import CoherenceCore
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

/// Observed objects and results of a context that replaces or refreshes its objects.
@MainActor
@Suite("Observed objects after resets and refreshes", .timeLimit(.minutes(15)))
struct ObservedResetTests {
  /// A track with typed properties.
  private final class Track: ManagedObject {
    var title: String {
      get { self[AttributeKey<String>("title")] }
      set { self[AttributeKey<String>("title")] = newValue }
    }
    var folded: String? { self[AttributeKey<String?>("folded")] }
    var next: Track? {
      get { self[ToOneKey<Track>("next")] }
      set { self[ToOneKey<Track>("next")] = newValue }
    }

    static var sorted: FetchRequest<Track> { FetchRequest<Track>(entityName: "Track").sort("title") }
  }

  private let directory = TemporaryDirectory()

  /// Makes a container with the saved tracks "a" and "b". The next track of "a" is "b".
  private func makeContainer(_ backend: Backend) throws -> GenericPersistentContainer<ContextStrategy.Direct> {
    let model = try ManagedObjectModel {
      Entity("Track", class: Track.self) {
        Attribute("title", .string)
        Attribute("folded", .string, optional: true, derived: .canonical("title"))
        Relationship("next", toOne: "Track", inverse: "former")
        Relationship("former", toMany: "Track", inverse: "next")
      }
    }
    let container = GenericPersistentContainer<ContextStrategy.Direct>(
      name: "Resets", managedObjectModel: model, storeLocation: directory.url)
    try container.attachPersistentStore(for: backend.newConfiguration())
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let (first, second) = (try Track(context: context), try Track(context: context))
      (first.title, second.title) = ("a", "b")
      first.next = second
      try context.save()
    }
    return container
  }

  @Test(arguments: Backend.available)
  func `a reset notifies the readers of objects, which it replaces, and not the readers of equal values`(
    backend: Backend
  ) throws {
    let container = try makeContainer(backend)
    let view = container.viewContext
    let track = try view.observed(try #require(try view.fetch(Track.sorted).first))
    let tracks = try view.observed(Track.sorted)
    let (title, next, objects) = (ObservationReader(), ObservationReader(), ObservationReader())
    title.follow { _ = track.title }
    next.follow { _ = track.next }
    objects.follow { _ = tracks.objects }
    view.performAndWait { view.reset() }
    #expect(title.notifications == 0 && next.notifications == 1 && objects.notifications == 1)
    #expect(track.next?.managedObjectContext === view)
    #expect(tracks.objects.map(\.title) == ["a", "b"])
    withExtendedLifetime(container) {}
  }

  @Test(arguments: Backend.available, [false, true])
  func `a refresh and a reset of a child notify the readers of values that its parent has edited`(
    backend: Backend, isReset: Bool
  ) throws {
    let container = try makeContainer(backend)
    let view = container.viewContext
    let child = ManagedObjectContext(parent: view)
    let (track, tracks) = try child.performAndWait {
      (
        try child.observed(try #require(try child.fetch(Track.sorted).first)),
        try child.observed(Track.sorted)
      )
    }
    let (title, objects) = (ObservationReader(), ObservationReader())
    child.performAndWait {
      title.follow { _ = track.title }
      #expect(tracks.objects.map(\.title) == ["a", "b"])
    }
    try view.performAndWait { try view.fetch(Track.sorted).first?.title = "A" }
    // The loaded objects keep their values until they are read again.
    child.performAndWait { objects.follow { _ = tracks.objects } }
    child.performAndWait {
      if isReset { child.reset() } else { child.refreshAll() }
    }
    #expect(title.notifications == 1 && objects.notifications == 1)
    child.performAndWait {
      #expect(track.title == "A" && tracks.objects.map(\.title) == ["A", "b"])
    }
    withExtendedLifetime(container) {}
  }

  @Test(arguments: Backend.available, [false, true])
  func `a refresh and a reset of a child notify the readers of values that its parent has rolled back`(
    backend: Backend, isReset: Bool
  ) throws {
    let container = try makeContainer(backend)
    let view = container.viewContext
    let child = ManagedObjectContext(parent: view)
    try view.performAndWait { try view.fetch(Track.sorted).first?.title = "0" }
    let track = try child.performAndWait {
      try child.observed(try #require(try child.fetch(Track.sorted).first))
    }
    let title = ObservationReader()
    child.performAndWait {
      title.follow { _ = track.title }
      #expect(track.title == "0")
    }
    view.performAndWait { view.rollback() }
    // The loaded object keeps its values until it is read again.
    child.performAndWait {}
    child.performAndWait {
      if isReset { child.reset() } else { child.refreshAll() }
    }
    #expect(title.notifications == 1)
    child.performAndWait { #expect(track.title == "a") }
    withExtendedLifetime(container) {}
  }

  @Test(arguments: Backend.available)
  func `the save of a new record notifies the readers of a derived value in a child of a child`(
    backend: Backend
  ) throws {
    let container = try makeContainer(backend)
    let view = container.viewContext
    let child = ManagedObjectContext(parent: view)
    let grandchild = ManagedObjectContext(parent: child)
    try view.performAndWait { try Track(context: view).title = "0A" }
    let track = try grandchild.performAndWait {
      try grandchild.observed(try #require(try grandchild.fetch(Track.sorted).first))
    }
    let folded = ObservationReader()
    grandchild.performAndWait { folded.follow { _ = track.folded } }
    try child.performAndWait {
      try view.performAndWait { try view.save() }
      // The turn knows the save. The child passes the identifier on after its block.
      grandchild.performAndWait {}
    }
    child.performAndWait {}
    grandchild.performAndWait {}
    #expect(folded.notifications == 1)
    grandchild.performAndWait { #expect(track.folded == "0a") }
    withExtendedLifetime(container) {}
  }
}
