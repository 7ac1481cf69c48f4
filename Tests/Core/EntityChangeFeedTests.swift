import Testing

@testable import CoherenceCore

@Suite("Feeds of changes by entity", .timeLimit(.minutes(15)))
struct EntityChangeFeedTests {
  private let model: ManagedObjectModel
  private let spaces: IDSpaces

  init() throws {
    model = try ManagedObjectModel {
      Entity("Person") { Attribute("name", .string) }
      Entity("Employee", parent: "Person")
      Entity("Club") { Attribute("name", .string) }
    }
    spaces = IDSpaces(store: StoreIdentifier("feed"), model: model)
  }

  private func ids(_ keys: Range<Int>, _ entity: EntityDescription) -> Set<ManagedObjectID> {
    Set(keys.map { ManagedObjectID(space: spaces[entity], key: Int64($0)) })
  }

  private func list(_ keys: Range<Int>, of name: String, as kind: EntityChangeKind) throws -> EntityChangeList {
    let entity = try model.entity(named: name)
    var list = EntityChangeList()
    list.add(ids(keys, entity), of: entity, as: kind)
    return list
  }

  @Test func `unread changes of several saves are merged for each entity`() async throws {
    let feed = EntityChangeFeed()
    let person = try model.entity(named: "Person")
    var changes = feed.makeStream(of: nil).makeAsyncIterator()
    feed.post(try list(0..<3, of: "Person", as: .inserted))
    feed.post(try list(0..<1, of: "Club", as: .updated))
    feed.post(try list(1..<5, of: "Person", as: .updated))
    feed.post(try list(2..<4, of: "Person", as: .deleted))
    let people = await changes.next()
    #expect(people?.entity === person)
    #expect(people?.inserted == ids(0..<2, person))
    #expect(people?.updated == ids(4..<5, person))
    #expect(people?.deleted == ids(2..<4, person))
    #expect(await changes.next()?.entity.name == "Club")
  }

  @Test func `a deleted record stays deleted when its insert is reported later`() async throws {
    let feed = EntityChangeFeed()
    let person = try model.entity(named: "Person")
    var changes = feed.makeStream(of: nil).makeAsyncIterator()
    feed.post(try list(0..<2, of: "Person", as: .deleted))
    feed.post(try list(0..<3, of: "Person", as: .inserted))
    let people = await changes.next()
    #expect(people?.deleted == ids(0..<2, person))
    #expect(people?.inserted == ids(2..<3, person))
  }

  @Test func `an unread stream keeps ten thousand identifiers at most`() async throws {
    let feed = EntityChangeFeed()
    var changes = feed.makeStream(of: nil).makeAsyncIterator()
    feed.post(try list(0..<9_000, of: "Club", as: .updated))
    for start in stride(from: 0, to: 5000, by: 1000) {
      feed.post(try list(start..<(start + 1000), of: "Person", as: .inserted))
    }
    let clubs = await changes.next()
    #expect(clubs?.count == 9_000 && clubs?.isEverything == false)
    let people = await changes.next()
    #expect(people?.count == 0 && people?.isEverything == true)
    feed.post(try list(0..<1, of: "Person", as: .inserted))
    #expect(await changes.next()?.count == 1)
  }

  @Test func `a save of more records than are listed is reported as everything`() async throws {
    let feed = EntityChangeFeed()
    var changes = feed.makeStream(of: nil).makeAsyncIterator()
    feed.post(try list(0..<10_001, of: "Person", as: .inserted))
    #expect(await changes.next()?.isEverything == true)
  }

  @Test func `a stream of one entity delivers its subentities and no other entities`() async throws {
    let feed = EntityChangeFeed()
    let person = try model.entity(named: "Person")
    let employee = try model.entity(named: "Employee")
    var people = feed.makeStream(of: person).makeAsyncIterator()
    var employees = feed.makeStream(of: employee).makeAsyncIterator()
    feed.post(try list(0..<1, of: "Club", as: .inserted))
    feed.post(try list(0..<1, of: "Person", as: .inserted))
    feed.post(try list(1..<2, of: "Employee", as: .inserted))
    #expect(await people.next()?.entity === person)
    #expect(await people.next()?.entity === employee)
    #expect(await employees.next()?.entity === employee)
    // A batch on people does not return which of the records are employees.
    var batch = EntityChangeList()
    batch.add(batch: Array(ids(0..<2, person)), of: person, as: .deleted)
    feed.post(batch)
    let deleted = await employees.next()
    #expect(deleted?.entity === person && deleted?.includesSubentities == true && deleted?.deleted.count == 2)
  }

  @Test func `a feed is observed while a stream is in use, and each stream delivers all changes`() async throws {
    let feed = EntityChangeFeed()
    #expect(!feed.isObserved)
    do {
      var first = feed.makeStream(of: nil).makeAsyncIterator()
      var second = feed.makeStream(of: nil).makeAsyncIterator()
      #expect(feed.isObserved)
      feed.post(try list(0..<1, of: "Club", as: .inserted))
      #expect(await first.next()?.count == 1)
      #expect(await second.next()?.count == 1)
    }
    feed.post(try list(0..<1, of: "Club", as: .updated))
    #expect(!feed.isObserved)
  }

  @Test func `a feed without saves does not keep the listeners of released streams`() {
    let feed = EntityChangeFeed()
    let stream = feed.makeStream(of: nil)
    for _ in 0..<1_000 { _ = feed.makeStream(of: nil) }
    #expect(feed.listenerCount < 100)
    #expect(feed.isObserved)
    withExtendedLifetime(stream) {}
  }

  @Test func `a stream ends with its coordinator, after delivering the remaining changes`() async throws {
    var coordinator: PersistentStoreCoordinator? = PersistentStoreCoordinator(managedObjectModel: model)
    let stream = try #require(try coordinator?.entityChanges(of: "Club"))
    coordinator?.entityChangeFeed.post(try list(0..<1, of: "Club", as: .inserted))
    coordinator = nil
    var counts: [Int] = []
    for await changes in stream { counts.append(changes.count) }
    #expect(counts == [1])
  }

  @Test func `a stream ends when its reader is cancelled`() async throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let (begun, continuation) = AsyncStream<Void>.makeStream()
    let reader = Task {
      var count = 0
      let stream = coordinator.entityChanges()
      continuation.finish()
      for await _ in stream { count += 1 }
      return count
    }
    for await _ in begun {}
    reader.cancel()
    #expect(await reader.value == 0)
  }

  @Test func `an unknown entity is refused by name`() {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    #expect { _ = try coordinator.entityChanges(of: "Persn") } throws: { ErrorCode.unknownEntity ~= $0 }
  }
}
