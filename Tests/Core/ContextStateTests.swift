import CoherenceInMemory
import Foundation
import Synchronization
import Testing

@testable import CoherenceCore

/// The state of contexts and coordinators that other parts of the framework read.
@Suite struct ContextStateTests {
  /// Collects the activities of a context.
  private final class Activities: ContextActivityObserver {
    private let activities = Mutex<[ContextActivity]>([])
    func contextDid(_ activity: ContextActivity, in duration: Duration) { activities.withLock { $0.append(activity) } }
    func takeAll() -> [ContextActivity] { activities.withLock { exchange(&$0, with: []) } }
  }

  private final class Item: ManagedObject {}

  private let coordinator: PersistentStoreCoordinator
  private let context: ManagedObjectContext

  init() throws {
    let model = try ManagedObjectModel(configurations: ["Books": ["Book"]]) {
      Entity("Thing") { Attribute("name", .string) }
      Entity("Toy", parent: "Thing")
      Entity("Book") { Attribute("title", .string, optional: true) }
    }
    coordinator = try PersistentStoreCoordinator(inMemory: model)
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  @discardableResult
  private func insert(_ name: String?) throws -> ManagedObject {
    let thing = try context.insertNewObject(forEntityName: "Thing")
    if let name { try thing.setValue(name, for: "name") }
    return thing
  }

  private func code(of body: () throws -> Void) -> ErrorCode? {
    let error = #expect(throws: CoherenceError.self) { try body() }
    return error?.code
  }

  // MARK: Reports

  @Test func `the observer of a context receives each outermost block and the numbers of saved records`() throws {
    let activities = Activities()
    context.activityObserver = activities
    let objects = try context.performAndWait {
      try context.performAndWait { try (1...2).map { try insert("\($0)") } }
    }
    #expect(activities.takeAll() == [.block])
    try context.performAndWait {
      try context.save()
      try objects[0].setValue("new", for: "name")
      context.delete(objects[1])
      for _ in 1...3 { try insert("fresh") }
      try context.save()
      try context.save()
    }
    #expect(
      activities.takeAll() == [
        .save(inserted: 2, updated: 0, deleted: 0), .save(inserted: 3, updated: 1, deleted: 1),
        .save(inserted: 0, updated: 0, deleted: 0), .block,
      ])
    let refusal = code {
      try context.performAndWait {
        try insert(nil)
        try context.save()
      }
    }
    #expect(refusal == .validationFailed)
    #expect(activities.takeAll() == [.save(inserted: 0, updated: 0, deleted: 0), .block])
  }

  @Test func `a change set back by another assignment is no saved record, and a save makes its object clean`() throws {
    let activities = Activities()
    context.activityObserver = activities
    try context.performAndWait {
      let thing = try insert("A")
      try context.save()
      try thing.setValue("B", for: "name")
      try thing.setValue("A", for: "name")
      #expect(!context.hasChanges && !context.hasUnsavedRecords)
      #expect(context.storage.unsaved.count == 1)
      try context.save()
      #expect(context.storage.unsaved.count == 0)
      #expect(thing.row != nil)
    }
    #expect(activities.takeAll().dropFirst() == [.save(inserted: 0, updated: 0, deleted: 0), .block])
  }

  // MARK: Saves beside unused contexts

  /// Saves a new name of a thing, and waits until a follower has processed its inbox.
  private func save(_ name: String, of thing: ManagedObject, before follower: ManagedObjectContext) throws {
    try context.performAndWait {
      try thing.setValue(name, for: "name")
      try context.save()
    }
    // Behind the earlier entries of the queue, and without a block of the context.
    follower.storage.confinement.owning {}
  }

  private func names(in follower: ManagedObjectContext) throws -> Set<AttributeValue> {
    try follower.performAndWait {
      let things = try follower.fetch(FetchRequest<ManagedObject>(entityName: "Thing"))
      return Set(try things.map { try $0.value(for: "name") })
    }
  }

  @Test func `saves of known records do not wake a context without objects, whose next block sees them`() throws {
    let follower = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    follower.follow(context)
    let activities = Activities()
    follower.activityObserver = activities
    let thing = try context.performAndWait { try insert("A") }
    try save("B", of: thing, before: follower)
    #expect(activities.takeAll() == [.block], "The follower posts a notification of the inserted record.")
    for name in ["C", "D", "E"] { try save(name, of: thing, before: follower) }
    #expect(activities.takeAll().isEmpty)
    let names = try self.names(in: follower)
    #expect(names == [.string("E")])
    _ = activities.takeAll()
    try save("F", of: thing, before: follower)
    try save("G", of: thing, before: follower)
    #expect(activities.takeAll() == [.block], "The first save after a block finds that the context has no objects.")
    let second = try context.performAndWait { try insert("second") }
    try save("H", of: second, before: follower)
    #expect(activities.takeAll() == [.block])
    let laterNames = try self.names(in: follower)
    #expect(laterNames == [.string("G"), .string("H")])
  }

  @Test func `a context without objects follows the records of its next block`() throws {
    let follower = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    follower.follow(context)
    let thing = try context.performAndWait { try insert("A") }
    for name in ["B", "C"] { try save(name, of: thing, before: follower) }
    let copy = try #require(
      try follower.performAndWait { try follower.fetch(FetchRequest<ManagedObject>(entityName: "Thing")).first })
    try save("D", of: thing, before: follower)
    try save("E", of: thing, before: follower)
    let name = try follower.performAndWait { try copy.value(for: "name") }
    #expect(name == .string("E"))
  }

  // MARK: Changes in a block

  @Test func `a block changes records only if it changes them itself, and earlier changes are still posted`() throws {
    try context.performAndWait {
      let storage = context.storage
      let (first, second) = (try insert("A"), try insert("B"))
      let isUnchanged = !storage.isChanged {}
      #expect(isUnchanged)
      let isChanged = try storage.isChanged { try first.setValue("C", for: "name") }
      #expect(isChanged)
      let isPosted = try storage.isChanged {
        try second.setValue("D", for: "name")
        context.postChanges()
      }
      #expect(isPosted)
      let listed = storage.notifications.unposted.compactMap(\.object)
      #expect(listed.contains(first) && listed.contains(second))
    }
  }

  @Test func `a block returns the records that it changed, changed before or not, without those that it posted`() throws
  {
    try context.performAndWait {
      let storage = context.storage
      let (first, second) = (try insert("A"), try insert("B"))
      var failure: (any Error)?
      func changed(_ body: () throws -> Void) -> [ManagedObject?] {
        storage.changes { do { try body() } catch { failure = error } }.map(\.object)
      }
      let unchanged = changed {}
      #expect(unchanged == [])
      let again = changed { try first.setValue("C", for: "name") }
      #expect(again == [first])
      let later = changed {
        try first.setValue("D", for: "name")
        context.postChanges()
        try second.setValue("E", for: "name")
      }
      #expect(later == [second])
      #expect(failure == nil)
    }
  }

  @Test func `records that become unsaved in a block are collected once, and a nested block has a list of its own`()
    throws
  {
    try context.performAndWait {
      let storage = context.storage
      try insert("outside")
      #expect(storage.takeNewRecords().isEmpty)
      try storage.collectingNewRecords {
        let first = try insert("A")
        try storage.collectingNewRecords {
          let second = try insert("B")
          let nested = storage.takeNewRecords()
          #expect(nested.map(\.object) == [second])
        }
        let collected = storage.takeNewRecords()
        #expect(collected.map(\.object) == [first])
        let rest = storage.takeNewRecords()
        #expect(rest.isEmpty)
      }
      try insert("after")
      #expect(storage.takeNewRecords().isEmpty)
    }
  }

  // MARK: Contexts

  @Test func `a context refreshes its objects from others if it follows one, or is a view with a parent`() {
    #expect(!context.showsSavesOfOthers)
    #expect(!ManagedObjectContext(concurrencyType: .mainQueue, coordinator: coordinator).showsSavesOfOthers)
    #expect(ManagedObjectContext(concurrencyType: .mainQueue, parent: context).showsSavesOfOthers)
    #expect(!ManagedObjectContext(concurrencyType: .privateQueue, parent: context).showsSavesOfOthers)
    let (follower, later) = (ManagedObjectContext(), ManagedObjectContext())
    follower.follow(context)
    later.followLaterContexts()
    #expect(follower.showsSavesOfOthers && later.showsSavesOfOthers)
    #expect(!context.showsSavesOfOthers)
  }

  @Test func `the handle of a context loses the context with its release`() throws {
    let handle: ContextHandle
    do {
      let context = ManagedObjectContext()
      handle = try #require(context.handle)
      #expect(handle.context === context)
      #expect(!handle.isCleared)
    }
    #expect(handle.context == nil)
    #expect(handle.isCleared)
  }

  @Test func `a context that gets another coordinator looks its entities up in the other model`() throws {
    func coordinator() throws -> PersistentStoreCoordinator {
      PersistentStoreCoordinator(
        managedObjectModel: try ManagedObjectModel {
          Entity("Item", class: Item.self) { Attribute("name", .string) }
        })
    }
    let (first, second) = (try coordinator(), try coordinator())
    let context = ManagedObjectContext(coordinator: first)
    let expected = try first.managedObjectModel.entity(named: "Item")
    for _ in 1...2 { #expect(try context.entity(for: Item.self) === expected) }
    context.persistentStoreCoordinator = second
    let other = try second.managedObjectModel.entity(named: "Item")
    #expect(try context.entity(for: Item.self) === other)
    context.persistentStoreCoordinator = nil
    #expect(code { _ = try context.entity(for: Item.self) } == .contextWithoutStore)
  }

  @Test func `a context of a thread refuses blocks for a queue, with and without a handler of errors`() async {
    let context = ManagedObjectContext(concurrencyType: .currentThread)
    let code = Mutex<ErrorCode?>(nil)
    context.perform(onError: { error in code.withLock { $0 = (error as? CoherenceError)?.code } }) {
      Issue.record("A context of a thread has no queue for a block.")
    }
    let reported = code.withLock { $0 }
    #expect(reported == .wrongContext)
    let error = await #expect(throws: CoherenceError.self) { try await context.perform { 1 } }
    #expect(error?.code == .wrongContext)
  }

  @Test func `a context names its kind and its name in messages`() {
    #expect(context.label == "private-queue context")
    context.name = "import"
    #expect(context.label == "private-queue context 'import'")
    #expect(ManagedObjectContext(concurrencyType: .mainQueue).label == "main-queue context")
    #expect(ManagedObjectContext(concurrencyType: .currentThread).label == "thread's context")
  }

  @Test func `only a new object without a permanent identifier is assigned to a store that holds it`() throws {
    let books = try coordinator.addPersistentStore(type: .inMemory, configurationName: "Books")
    try context.performAndWait {
      let (thing, book) = (try insert("A"), try context.insertNewObject(forEntityName: "Book"))
      #expect(code { try context.assign(thing, to: books) } == .noStore)
      try context.obtainPermanentIDs(for: [thing])
      #expect(code { try context.assign(thing, to: coordinator.persistentStores[0]) } == .illegalState)
      try context.assign(book, to: books)
      try context.save()
      #expect(book.objectID.storeIdentifier == books.identifier)
      #expect(code { try context.assign(book, to: books) } == .illegalState)
      let late = try context.insertNewObject(forEntityName: "Book")
      try coordinator.remove(books)
      #expect(code { try context.assign(late, to: books) } == .storeDetached)
    }
  }

  // MARK: Coordinators

  @Test func `the number of changes of stores rises with each attachment and each detachment`() throws {
    let count = coordinator.storeChangeCount
    #expect(count == 1)
    let store = try coordinator.addPersistentStore(type: .inMemory, configurationName: "Books")
    #expect(coordinator.storeChangeCount == 2)
    let refused = code {
      try coordinator.addPersistentStore(type: .inMemory, options: [StoreOption.migrateAutomatically: "yes"])
    }
    #expect(refused == .invalidOption)
    try coordinator.remove(store)
    #expect(coordinator.storeChangeCount == 3)
    #expect(code { try coordinator.remove(store) } == .storeDetached)
    #expect(coordinator.storeChangeCount == 3)
  }

  @Test func `the author of a save is a text that an attribute takes, and its time is a date of a timestamp`() {
    #expect(DerivedValues(in: coordinator, by: "Ann").author == .string("Ann"))
    #expect(DerivedValues(in: coordinator, by: "A\0b").author == .null)
    #expect(DerivedValues(in: coordinator, by: nil).author == .null)
    coordinator.clock = { Date(timeIntervalSince1970: 12) }
    #expect(DerivedValues(in: coordinator, by: nil).time == Timestamp(microseconds: 12_000_000))
    coordinator.clock = { Date(timeIntervalSince1970: 1e30) }
    #expect(DerivedValues(in: coordinator, by: nil).time == Timestamp(microseconds: 0))
  }

  @Test func `an identifier of an unattached store, of a subentity and of another store's entity is refused`() throws {
    let books = try coordinator.addPersistentStore(type: .inMemory, configurationName: "Books")
    func stored(_ store: StoreIdentifier, _ entity: String) throws -> StoredObjectID {
      try StoredObjectID(text: "x-coherence://\(store.rawValue)/\(entity)/p7")
    }
    let first = coordinator.persistentStores[0].identifier
    #expect(try coordinator.objectID(for: stored(first, "Thing")).key == 7)
    #expect(code { _ = try coordinator.objectID(for: stored(StoreIdentifier("none"), "Thing")) } == .storeDetached)
    #expect(code { _ = try coordinator.objectID(for: stored(first, "Toy")) } == .unknownEntity)
    #expect(code { _ = try coordinator.objectID(for: stored(books.identifier, "Thing")) } == .noStore)
    #expect(try coordinator.objectID(for: stored(books.identifier, "Book")).storeIdentifier == books.identifier)
  }

  @Test func `two links to one file are one store, and a store without a file is known by its identifier`() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let (file, link) = (directory.appendingPathComponent("a.sqlite"), directory.appendingPathComponent("b.sqlite"))
    try Data().write(to: file)
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
    let identifier = StoreIdentifier("shared")
    func identity(_ url: URL?) -> StoreIdentity { StoreIdentity(identifier: identifier, url: url) }
    #expect(identity(file) == identity(link))
    #expect(identity(file) != identity(directory.appendingPathComponent("c.sqlite")))
    #expect(identity(file) != identity(nil))
    let server = try #require(URL(string: "postgresql://host/data"))
    #expect(identity(server) == identity(nil))
    #expect(identity(nil) != StoreIdentity(identifier: StoreIdentifier("other"), url: nil))
  }
}
