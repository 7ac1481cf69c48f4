import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// The objects of a controller by pages, and the indexes of objects.
@MainActor
@Suite("Pages of live results", .timeLimit(.minutes(15)))
struct ControllerPageTests {
  private typealias Controller = FetchedResultsController<ManagedObject>
  nonisolated private static let count = 2_000

  /// A stack with tracks in ten genres.
  private func filled(_ backend: Backend) throws -> LiveLibrary.Stack {
    let stack = try LiveLibrary.Stack(.direct, on: backend)
    try stack.write { context in
      for number in 0..<Self.count {
        try LiveLibrary.track("t", genre: "\(number / 200)", length: number, in: context)
      }
    }
    return stack
  }

  private func controller(
    _ stack: LiveLibrary.Stack, batchSize: Int = 0, sections: String? = nil
  ) throws -> Controller {
    let request = (sections.map { LiveLibrary.tracks.sort($0) } ?? LiveLibrary.tracks).sort("length")
    let controller = Controller(
      fetchRequest: request.batchSize(batchSize), managedObjectContext: stack.view, sectionKeyPath: sections)
    try controller.performFetch()
    return controller
  }

  private func length(_ track: ManagedObject) throws -> Int { try track.value(for: "length", as: Int.self) }

  @Test(arguments: [0, 50], Backend.available)
  func `a controller loads the page of an object`(batchSize: Int, backend: Backend) throws {
    let stack = try filled(backend)
    let controller = try controller(stack, batchSize: batchSize)
    #expect(stack.view.registeredObjects.isEmpty)
    #expect(try length(controller.object(at: 1_234)) == 1_234)
    #expect(stack.view.registeredObjects.count == (batchSize == 0 ? 256 : 50))
    #expect(try length(controller.object(at: IndexPath(indexes: [0, 1_999]))) == 1_999)
    #expect(try controller.fetchedList[3...5].map(length) == [3, 4, 5])
    #expect(try controller.fetchedObjects.map(length) == Array(0..<Self.count))
  }

  @Test(arguments: Backend.available)
  func `a controller with a batch size retains the objects of a few pages`(backend: Backend) throws {
    let stack = try filled(backend)
    let controller = try controller(stack, batchSize: 50)
    for index in 0..<Self.count {
      #expect(try length(controller.object(at: index)) == index)
      if index.isMultiple(of: 100) { #expect(stack.view.registeredObjects.count <= 450) }
    }
    #expect(controller.fetchedObjects.count == Self.count)
    #expect(stack.view.registeredObjects.count <= 450)
  }

  @Test(arguments: Backend.available)
  func `a controller without a batch size retains the objects that it was asked for`(backend: Backend) throws {
    let stack = try filled(backend)
    let controller = try controller(stack)
    for index in 0..<Self.count { #expect(try length(controller.object(at: index)) == index) }
    #expect(stack.view.registeredObjects.count == Self.count)
  }

  @Test(arguments: [0, 50], Backend.available)
  func `objects and their indexes agree before and after changes`(batchSize: Int, backend: Backend) throws {
    let stack = try filled(backend)
    let controller = try controller(stack, batchSize: batchSize, sections: "genre")
    let indexes = IndexComparison()
    controller.delegate = indexes
    try indexes.compare(controller)
    try stack.write { context in
      let tracks = try context.fetch(LiveLibrary.tracks.sort("length"))
      for track in tracks[300..<310] { context.delete(track) }
      try tracks[500].setValue("0", for: "genre")
      try tracks[501].setValue("a", for: "genre")
      try LiveLibrary.track("new", genre: "5", length: 1_100, in: context)
    }
    stack.view.performAndWait {}
    #expect(indexes.changeCount == 1)
    try indexes.compare(controller)
    let track = try LiveLibrary.track("unsaved", genre: "3", length: 0, in: stack.view)
    stack.view.performAndWait {}
    #expect(controller.indexPath(for: track) == IndexPath(indexes: [3, 0]))
    try stack.view.save()
    #expect(controller.object(at: IndexPath(indexes: [3, 0])) === track)
    #expect(controller.indexPath(for: track) == IndexPath(indexes: [3, 0]))
    try indexes.compare(controller)
    stack.view.delete(track)
    stack.view.performAndWait {}
    #expect(controller.index(for: track) == nil)
    stack.view.reset()
    try indexes.compare(controller)
  }

  @Test(arguments: [0, 50], Backend.available)
  func `before a change of the result, a controller has all objects of the former result, with the deleted ones`(
    batchSize: Int, backend: Backend
  ) throws {
    let stack = try filled(backend)
    let controller = try controller(stack, batchSize: batchSize)
    let track = try LiveLibrary.track("unsaved", length: -1, in: stack.view)
    stack.view.performAndWait {}
    let former = FormerObjects()
    controller.delegate = former
    stack.view.delete(track)
    stack.view.performAndWait {}
    #expect(former.first === track)
    stack.view.delete(controller.object(at: 5))
    stack.view.performAndWait {}
    try stack.write { context in
      for track in try context.fetch(LiveLibrary.tracks.sort("length").limit(3)) { context.delete(track) }
    }
    stack.view.performAndWait {}
    #expect(former.counts == [Self.count + 1, Self.count, Self.count - 1])
    #expect(former.deletedCounts == [1, 1, 3])
    #expect(controller.fetchedObjects.count == Self.count - 4)
  }

  @Test(arguments: Backend.available)
  func `a controller with a limit has the unsaved object that a delete removes from its former result`(
    backend: Backend
  ) throws {
    let stack = try filled(backend)
    let controller = Controller(
      fetchRequest: LiveLibrary.tracks.sort("length").limit(10).batchSize(5), managedObjectContext: stack.view)
    let tracks = try (1...11).map { try LiveLibrary.track("unsaved", length: -$0, in: stack.view) }
    try controller.performFetch()
    // The first track comes into the range, in which it has not changed.
    stack.view.delete(tracks[10])
    stack.view.performAndWait {}
    let former = FormerObjects()
    controller.delegate = former
    stack.view.delete(tracks[0])
    stack.view.performAndWait {}
    #expect(former.counts == [10] && former.deletedCounts == [1])
    #expect(former.last === tracks[0])
  }

  @Test(arguments: Backend.available)
  func `a list of a controller stays as it is when the result changes`(backend: Backend) throws {
    let stack = try filled(backend)
    let controller = try controller(stack, batchSize: 50)
    let list = controller.fetchedList
    try stack.write { context in
      for track in try context.fetch(LiveLibrary.tracks.sort("length").limit(10)) { context.delete(track) }
    }
    #expect(controller.fetchedList.count == Self.count - 10)
    #expect(try length(controller.object(at: 0)) == 10)
    #expect(list.count == Self.count && list[0].isDeleted)
    #expect(try length(list[10]) == 10)
  }

  @Test(arguments: Backend.available)
  func `a snapshot of a result has its objects by pages in any context`(backend: Backend) throws {
    let stack = try filled(backend)
    let snapshot = try #require(try controller(stack).snapshot)
    let context = stack.container.newBackgroundContext()
    try context.performAndWait {
      let list = try snapshot.list(in: context, batchSize: 100)
      #expect(list.count == Self.count)
      #expect(try list[1_500].value(for: "length", as: Int.self) == 1_500)
      #expect(context.registeredObjects.count == 100)
      #expect(list.index(of: snapshot[77]) == 77 && snapshot.index(of: snapshot[77]) == 77)
      #expect(throws: CoherenceError.self) { try snapshot.list(in: context, batchSize: 0) }
    }
  }

  @Test(arguments: Backend.available)
  func `a controller with a limit knows the indexes of its objects`(backend: Backend) throws {
    let stack = try filled(backend)
    let controller = Controller(
      fetchRequest: LiveLibrary.tracks.sort("length").limit(100, offset: 50).batchSize(10),
      managedObjectContext: stack.view)
    try controller.performFetch()
    let outside = try #require(try stack.view.fetch(LiveLibrary.tracks.sort("length").limit(1)).first)
    #expect(controller.index(for: outside) == nil)
    for index in 0..<100 { #expect(controller.index(for: controller.object(at: index)) == index) }
    stack.view.delete(outside)
    stack.view.performAndWait {}
    for index in 0..<100 {
      #expect(controller.index(for: controller.object(at: index)) == index)
      #expect(try length(controller.object(at: index)) == index + 51)
    }
  }

  @Test(arguments: Backend.available)
  func `an observed result has its objects by pages`(backend: Backend) throws {
    let stack = try filled(backend)
    let observed = try stack.view.observed(LiveLibrary.tracks.sort("length").batchSize(20))
    #expect(try length(observed.list[777]) == 777)
    #expect(stack.view.registeredObjects.count == 20)
  }
}

/// Compares the indexes of a controller's objects with its snapshot, also in the middle of a change.
private final class IndexComparison: FetchedResultsControllerDelegate {
  private(set) var changeCount = 0

  func controllerWillChangeContent(_ controller: FetchedResultsController<ManagedObject>) { report(controller) }

  func controller(
    _ controller: FetchedResultsController<ManagedObject>, didChange changes: ResultChanges<ManagedObject>
  ) {
    changeCount += 1
    report(controller)
  }

  private func report(_ controller: FetchedResultsController<ManagedObject>) {
    do { try compare(controller) } catch { Issue.record(error) }
  }

  func compare(_ controller: FetchedResultsController<ManagedObject>) throws {
    let snapshot = try #require(controller.snapshot)
    let sections = controller.sections
    #expect(sections.map(\.count).reduce(0, +) == snapshot.count)
    #expect(sections == snapshot.sections)
    for index in snapshot.indices {
      let object = controller.object(at: index)
      // The former result names a saved record by its temporary identifier.
      if snapshot[index].isTemporaryID, !object.objectID.isTemporaryID { continue }
      guard object.objectID == snapshot[index], controller.index(for: object) == index else {
        Issue.record("The object at \(index) has the index \(String(describing: controller.index(for: object))).")
        return
      }
      guard let path = controller.indexPath(for: object), sections[path[0]].range.lowerBound + path[1] == index,
        controller.object(at: path).objectID == snapshot[index]
      else {
        Issue.record("The object at \(index) has the path \(String(describing: controller.indexPath(for: object))).")
        return
      }
    }
  }
}

/// Counts the objects of the former result before each change.
private final class FormerObjects: FetchedResultsControllerDelegate {
  private(set) var counts: [Int] = []
  private(set) var deletedCounts: [Int] = []
  private(set) var first: ManagedObject?
  private(set) var last: ManagedObject?

  func controllerWillChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
    let objects = controller.fetchedObjects
    counts.append(objects.count)
    deletedCounts.append(objects.count(where: \.isDeleted))
    (first, last) = (objects.first, objects.last)
    #expect(objects.map(\.objectID) == controller.snapshot?.ids)
    #expect(controller.fetchedList.map(\.objectID) == controller.snapshot?.ids)
  }
}
