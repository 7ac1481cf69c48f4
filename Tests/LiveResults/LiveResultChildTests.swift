import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// Live results of children whose objects and lists show former edits of their parents.
@MainActor
@Suite("Live results of children", .timeLimit(.minutes(15)))
struct LiveResultChildTests {
  private static func artist(_ name: String, in context: ManagedObjectContext) throws -> ManagedObject {
    let artist = try context.insertNewObject(forEntityName: "Artist")
    try artist.setValue(name, for: "name")
    try artist.setValue(1, for: "rating")
    return artist
  }

  private static func byTracks() -> FetchRequest<ManagedObject> {
    FetchRequest<ManagedObject>(entityName: "Artist").sort("tracks.@count", .reverse).sort("name")
  }

  @Test(arguments: Backend.available)
  func `a child with a list that its parent has rolled back equals its fetch when other edits begin and end`(
    backend: Backend
  ) throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    try stack.write { context in
      for name in ["a", "b"] { _ = try Self.artist(name, in: context) }
      try LiveLibrary.track("track", in: context)
    }
    let view = stack.view
    let parent = ManagedObjectContext(parent: view)
    let child = ManagedObjectContext(parent: parent)
    let watcher = try LiveWatcher("child", Self.byTracks(), in: child)
    let artist = try view.performAndWait {
      let artist = try #require(try view.fetchFirst(FetchRequest<ManagedObject>(entityName: "Artist").sort("name")))
      try artist.setValue("edited", for: "notes")
      return artist
    }
    try child.performAndWait {
      let track = try #require(try child.fetchFirst(LiveLibrary.tracks))
      let last = FetchRequest<ManagedObject>(entityName: "Artist").sort("name", .reverse)
      try track.setObject(try child.fetchFirst(last), for: "artist")
      try child.save()
    }
    #expect(try watcher.difference() == nil)
    // The objects of the child keep the list with the track.
    parent.performAndWait { parent.rollback() }
    #expect(try watcher.difference() == nil)
    // Without unsaved artists, the store decides about the order.
    try view.performAndWait { try view.save() }
    #expect(try watcher.difference() == nil)
    try view.performAndWait { try artist.setValue("edited again", for: "notes") }
    #expect(try watcher.difference() == nil)
  }

  @Test(arguments: Backend.available)
  func `a child keeps the object of a record that its parent has edited and another writer deletes`(
    backend: Backend
  ) throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let id = try #require(try stack.add("a")["a"])
    let child = ManagedObjectContext(parent: stack.view)
    let watcher = try LiveWatcher("child", LiveLibrary.tracks, in: child)
    let track = try #require(child.performAndWait { watcher.controller.fetchedObjects.first })
    try stack.view.performAndWait { try stack.view.objects(for: [id]).first?.setValue("edited", for: "title") }
    try stack.write { context in for object in try context.objects(for: [id]) { context.delete(object) } }
    stack.view.performAndWait {}
    #expect(try watcher.difference() == nil)
    try child.performAndWait {
      let first = try child.fetch(LiveLibrary.tracks).first
      #expect(!track.isDeleted && track.managedObjectContext === child)
      #expect(first === track)
    }
  }

  /// The ways in which a parent drops an edit of a record that another writer has deleted.
  enum Drop: CaseIterable, Sendable { case save, rollback, reset, refresh, revert }

  @Test(arguments: Backend.available, Drop.allCases)
  func `the object of a record that another writer has deleted leaves a child after its parent has dropped its edit`(
    backend: Backend, drop: Drop
  ) async throws {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    let id = try #require(try stack.add("a")["a"])
    let child = ManagedObjectContext(parent: stack.view)
    let track = try child.performAndWait { try #require(try child.objects(for: [id]).first) }
    let edited = try stack.view.performAndWait {
      let edited = try #require(try stack.view.objects(for: [id]).first)
      try edited.setValue("edited", for: "title")
      return edited
    }
    try stack.write { context in for object in try context.objects(for: [id]) { context.delete(object) } }
    stack.view.performAndWait {}
    child.performAndWait { #expect(!track.isDeleted) }
    try stack.view.performAndWait {
      stack.view.mergePolicy = .storeTrumps
      switch drop {
      case .save: try stack.view.save()
      case .rollback: stack.view.rollback()
      case .reset: stack.view.reset()
      case .refresh: stack.view.refresh(edited, mergeChanges: false)
      case .revert:
        try edited.setValue("a", for: "title")
        try stack.view.save()
      }
    }
    // The parent reads a record without an edit again too, in its next turn.
    if drop == .revert { while !stack.view.performAndWait({ edited.isDeleted }) { await Task.yield() } }
    // The next read finds no record.
    child.performAndWait { _ = try? track.value(for: "title", as: String.self) }
    child.performAndWait { #expect(track.isDeleted && track.managedObjectContext == nil) }
  }
}
