import CoherenceCore
import CoherenceInMemory
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// Inserted records with the unique values of other writers' records, as contexts, live results and histories show them.
@MainActor
@Suite("Joined records in the contexts of a stack", .timeLimit(.minutes(15)))
struct JoinedRecordTests {
  nonisolated private static let model = Result {
    try ManagedObjectModel {
      Entity("Tag", uniqueness: [["name"]]) {
        Attribute("name", .string)
        Attribute("colour", .string, optional: true)
        Attribute("plays", .int64, default: 0)
        Relationship("tracks", toMany: "Track", inverse: "tags")
        Relationship("steps", toMany: "Step", inverse: "tag", ordered: true)
        Relationship("notes", toMany: "Note", inverse: "tag")
        Relationship("badge", toOne: "Badge", inverse: "tag")
      }
      Entity("Track") {
        Attribute("name", .string)
        Relationship("tags", toMany: "Tag", inverse: "tracks")
      }
      for name in ["Step", "Note", "Badge"] {
        Entity(name, uniqueness: [["name"]]) {
          Attribute("name", .string)
          Relationship("tag", toOne: "Tag", inverse: "\(name == "Badge" ? "badge" : name.lowercased() + "s")")
        }
      }
    }
  }

  /// A stack with a stored tag named "a", which no context has read.
  struct Stack {
    let directory = TemporaryDirectory()
    let container: any PersistentContainer
    let tag: ManagedObjectID

    init(_ strategy: StrategyKind, _ backend: Backend) throws {
      container = strategy.makeContainer(name: "Joined", model: try model.get(), in: directory)
      try container.attachPersistentStore(
        for: backend.configuration(named: "j" + UUID().uuidString.filter(\.isHexDigit)))
      tag = try Self.insertTag(in: ManagedObjectContext(coordinator: container.persistentStoreCoordinator))
    }

    private static func insertTag(in context: ManagedObjectContext) throws -> ManagedObjectID {
      try context.performAndWait {
        let tag = try context.insertNewObject(forEntityName: "Tag")
        try tag.setValue("a", for: "name")
        try tag.setValue("red", for: "colour")
        try context.save()
        return tag.objectID
      }
    }

    /// A background context whose saves join records.
    func joiningContext() -> ManagedObjectContext {
      let context = container.newBackgroundContext()
      context.mergePolicy = .objectTrumps
      return context
    }

    /// The stored tags, as a new context reads them.
    func stored(_ name: String) throws -> [AttributeValue] {
      let context = ManagedObjectContext(coordinator: container.persistentStoreCoordinator)
      return try context.performAndWait {
        try context.fetch(tags).map { try $0.value(for: name) }
      }
    }
  }

  nonisolated static var tags: FetchRequest<ManagedObject> { FetchRequest(entityName: "Tag").sort("name") }

  nonisolated static func make(
    _ entity: String, _ name: String, in context: ManagedObjectContext
  ) throws -> ManagedObject {
    let object = try context.insertNewObject(forEntityName: entity)
    try object.setValue(name, for: "name")
    return object
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `a background save of a used unique value joins the record, and the view shows it once`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let stack = try Stack(strategy, backend)
    let view = stack.container.viewContext
    let shown = try view.performAndWait { try view.fetch(Self.tags)[0].objectID }
    #expect(shown == stack.tag)
    let background = stack.joiningContext()
    let (temporary, saved) = try background.performAndWait {
      let tag = try Self.make("Tag", "a", in: background)
      try tag.setValue("blue", for: "colour")
      let track = try Self.make("Track", "t", in: background)
      try track.setObjects([tag], for: "tags")
      let temporary = tag.objectID
      try background.save()
      #expect(background.object(with: temporary) === tag || tag.managedObjectContext == nil)
      return (temporary, tag.objectID)
    }
    #expect(temporary.isTemporaryID && saved == stack.tag)
    #expect(try stack.stored("colour") == [.string("blue")])
    try view.performAndWait {
      if strategy == .directIndependent { view.refreshAll() }
      let tags = try view.fetch(Self.tags)
      #expect(tags.map(\.objectID) == [stack.tag])
      #expect(try tags[0].value(for: "colour") == .string("blue"))
      #expect(try tags[0].objects(for: "tracks").count == 1)
      #expect(view.registeredObjects.filter { $0.entity.name == "Tag" }.count == 1)
    }
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `a view that saves a used unique value shows the record once`(strategy: StrategyKind, backend: Backend) throws {
    let stack = try Stack(strategy, backend)
    let view = stack.container.viewContext
    view.mergePolicy = .objectTrumps
    try view.performAndWait {
      let tag = try Self.make("Tag", "a", in: view)
      try tag.setValue(4, for: "plays")
      let temporary = tag.objectID
      try view.save()
      #expect(tag.objectID == stack.tag)
      #expect(try tag.value(for: "colour") == .string("red"))
      #expect(view.object(with: temporary) === tag)
      #expect(try view.fetch(Self.tags) == [tag])
    }
    #expect(try stack.stored("plays") == [.int(4)])
  }

  @Test(arguments: [false, true], Backend.available)
  func `the children of a context that joins records have them under the stored identifier`(
    isKnown: Bool, backend: Backend
  ) throws {
    let stack = try Stack(.direct, backend)
    let parent = stack.joiningContext()
    let child = ManagedObjectContext(parent: parent)
    let other = ManagedObjectContext(parent: parent)
    if isKnown { _ = try other.performAndWait { try other.fetch(Self.tags)[0].objectID } }
    let inserted = try child.performAndWait {
      let tag = try Self.make("Tag", "a", in: child)
      try tag.setValue("blue", for: "colour")
      try child.save()
      return tag
    }
    defer { withExtendedLifetime(inserted) {} }
    let temporary = child.performAndWait { inserted.objectID }
    let objects = try other.performAndWait {
      let stored = isKnown ? try other.existingObject(with: stack.tag) : nil
      let tag = try other.existingObject(with: temporary)
      // An edit of a child of the inserted record becomes an edit of the stored one.
      try tag.setValue(6, for: "plays")
      return [stored, tag]
    }
    defer { withExtendedLifetime(objects) {} }
    try parent.performAndWait { try parent.save() }
    for context in [child, other, parent] {
      try context.performAndWait {
        let tag = try context.existingObject(with: temporary)
        #expect(tag.objectID == stack.tag)
        #expect(try tag.value(for: "colour") == .string("blue"))
        #expect(try context.fetch(Self.tags) == [tag])
      }
    }
    try other.performAndWait { try other.save() }
    try parent.performAndWait { try parent.save() }
    #expect(try stack.stored("plays") == [.int(6)])
    #expect(try stack.stored("colour") == [.string("blue")])
  }

  @Test(arguments: [false, true], Backend.available)
  func `a live result shows a joined record once, and never its temporary identifier again`(
    isKnown: Bool, backend: Backend
  ) throws {
    let stack = try Stack(.direct, backend)
    let context = stack.joiningContext()
    let follower = stack.container.newBackgroundContext()
    follower.follow(context)
    var request = Self.tags
    if !isKnown { request = request.filter(try FetchPredicate(format: "colour == 'blue'")) }
    let controllers = try [context, follower].map { context in
      let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
      try context.performAndWait { try controller.performFetch() }
      return controller
    }
    try context.performAndWait {
      let tag = try Self.make("Tag", "a", in: context)
      try tag.setValue("blue", for: "colour")
      try context.processPendingChanges()
    }
    context.performAndWait { #expect(controllers[0].fetchedObjects.count == (isKnown ? 2 : 1)) }
    try context.performAndWait { try context.save() }
    for (context, controller) in zip([context, follower], controllers) {
      try context.performAndWait {
        let ids = try context.fetchIDs(request)
        #expect(ids == [stack.tag])
        #expect(controller.fetchedObjects.map(\.objectID) == [stack.tag])
      }
    }
  }

  @Test(arguments: Backend.available)
  func `the changes of a live result delete the later one of two inserted records that a save joined`(
    backend: Backend
  ) async throws {
    let stack = try Stack(.mixed, backend)
    let view = stack.container.viewContext
    view.mergePolicy = .objectTrumps
    var changes = try view.changes(of: Self.tags.sort("plays")).makeAsyncIterator()
    _ = try await changes.next()
    let inserted = try (1...3).map { plays in
      let tag = try Self.make("Tag", "b", in: view)
      try tag.setValue(plays, for: "plays")
      return tag.objectID
    }
    let shown = try #require(try await changes.next())
    #expect(shown.current.ids == [stack.tag] + inserted)
    try view.save()
    let saved = try #require(try await changes.next())
    let id = view.object(with: inserted[0]).objectID
    #expect(saved.current.ids == [stack.tag, id])
    #expect(saved.renamed == [inserted[0]: id])
    var list = saved.former.ids
    saved.apply(to: &list)
    #expect(list == saved.current.ids)
  }

  @Test(arguments: Backend.available)
  func `an insert that joins a record whose object the context has leaves the context`(backend: Backend) throws {
    let stack = try Stack(.direct, backend)
    let context = stack.joiningContext()
    try context.performAndWait {
      let known = try context.fetch(Self.tags)
      let tag = try Self.make("Tag", "a", in: context)
      try tag.setValue("blue", for: "colour")
      let temporary = tag.objectID
      try context.save()
      #expect(tag.managedObjectContext == nil)
      #expect(context.object(with: temporary) === known.first)
      #expect(context.object(with: stack.tag) === known.first)
      #expect(context.registeredObjects.filter { $0.entity.name == "Tag" }.count == 1)
      #expect(try context.fetch(Self.tags) == known)
      #expect(try known.first?.value(for: "colour") == .string("blue"))
    }
  }

  @Test func `the changes of objects name a joined insert by its temporary identifier`()
    async throws
  {
    let stack = try Stack(.direct, .inMemory)
    let context = stack.joiningContext()
    let changes = context.objectsDidChange
    let temporary = try await context.perform {
      let known = try context.fetch(Self.tags)
      let inserted = try Self.make("Tag", "a", in: context)
      let temporary = inserted.objectID
      try context.save()
      // Without a deletion from the context, the wait for it below would not end.
      try #require(inserted.managedObjectContext == nil)
      withExtendedLifetime(known) {}
      return temporary
    }
    var iterator = changes.makeAsyncIterator()
    var seen: [ObjectChanges] = []
    while seen.last?.deleted.isEmpty != false, let next = await iterator.next() { seen.append(next) }
    #expect(seen.contains { $0.inserted == [temporary] })
    #expect(seen.last?.deleted == [temporary])
  }

  @Test(arguments: Backend.available)
  func `stores of one stack keep unique values of their own, and a save joins in the record's store`(
    backend: Backend
  ) throws {
    let stack = try Stack(.direct, backend)
    let second = try stack.container.persistentStoreCoordinator.addPersistentStore(type: .inMemory)
    let context = stack.joiningContext()
    try context.performAndWait {
      let other = try Self.make("Tag", "a", in: context)
      try context.assign(other, to: second)
      let tag = try Self.make("Tag", "a", in: context)
      try context.save()
      #expect(tag.objectID == stack.tag)
      #expect(other.objectID != stack.tag)
      #expect(try context.count(for: Self.tags) == 2)
    }
  }
}
