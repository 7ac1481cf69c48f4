import CoherenceCore
import Foundation
import TestRandom
import TestSupport
import Testing

/// Random work in several contexts: a collection that asks the store has the answers of its loaded list.
@Suite("Members in the store under random work", .timeLimit(.minutes(15)))
struct MemberInvariantTests {
  @Test(arguments: Backend.available)
  func `after each random step counts, pages, orders and filters of members are those of the loaded list`(
    backend: Backend
  ) throws {
    for seed in SeededRandom.seeds.flatMap({ [$0, $0 &+ 1, $0 &+ 2] }) {
      var work = try RandomMemberWork(backend, seed: seed)
      for step in 0..<40 {
        let action = try work.step()
        if let difference = try work.difference() {
          Issue.record("COHERENCE_SEED=\(seed), step \(step) (\(action)): \(difference)")
          return
        }
      }
    }
  }
}

/// Contexts that follow each other, and random work in them.
private struct RandomMemberWork {
  private static let model = Result {
    try ManagedObjectModel {
      Entity("Album") {
        Attribute("title", .string)
        Relationship("tracks", toMany: "Track", inverse: "album", ordered: true)
        Relationship("tags", toMany: "Tag", inverse: "albums")
        Relationship("covers", toMany: "Cover", inverse: "album")
        Relationship("extras", toMany: "Bonus", ordered: true)
        Relationship("ranking", toMany: "Tag", inverse: "ranked", ordered: true)
      }
      Entity("Track") {
        Attribute("length", .int64)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
      Entity("Bonus", parent: "Track") { Attribute("country", .string, optional: true) }
      Entity("Tag") {
        Attribute("length", .int64)
        Relationship("albums", toMany: "Album", inverse: "tags")
        Relationship("ranked", toMany: "Album", inverse: "ranking")
      }
      Entity("Cover") {
        Attribute("length", .int64)
        Relationship("album", toOne: "Album", inverse: "covers")
      }
    }
  }
  private static let lists = ["tracks": "Track", "tags": "Tag", "covers": "Cover", "extras": "Bonus", "ranking": "Tag"]

  private let directory = TemporaryDirectory()
  private let coordinator: PersistentStoreCoordinator
  private let contexts: [ManagedObjectContext]
  private var random: SeededRandom

  init(_ backend: Backend, seed: UInt64) throws {
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    random = SeededRandom(seed: seed)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try Self.model.get())
    let configuration = backend.configuration(named: UUID().uuidString.filter(\.isHexDigit))
    try coordinator.addPersistentStore(
      configuration, at: backend == .sqlite ? directory.file("store.sqlite") : configuration.location)
    let plain = (0..<2).map { _ in ManagedObjectContext(coordinator: coordinator) }
    plain[0].follow(plain[1])
    plain[1].follow(plain[0])
    contexts = plain + [ManagedObjectContext(parent: plain[0])]
    for context in contexts { context.mergePolicy = .objectTrumps }
    self.coordinator = coordinator
    try plain[0].performAndWait {
      for number in 0..<3 {
        try plain[0].insertNewObject(forEntityName: "Album").setValue("album \(number)", for: "title")
      }
      for entity in ["Track", "Track", "Track", "Bonus", "Bonus", "Tag", "Tag", "Tag", "Cover", "Cover"] {
        try plain[0].insertNewObject(forEntityName: entity).setValue(3, for: "length")
      }
      try plain[0].save()
    }
  }

  // MARK: Comparing

  mutating func difference() throws -> String? {
    // A child without objects asks the store with the unsaved changes of its parent.
    let fresh = ManagedObjectContext(parent: contexts[random.next(below: 2)])
    for (index, context) in (contexts + [fresh]).enumerated() where random.isTrue(0.6) {
      let offset = random.next(below: 3)
      let isReset = random.isTrue(0.3)
      let found = try context.performAndWait { () -> String? in
        for album in try context.fetch(FetchRequest<ManagedObject>(entityName: "Album")) {
          if isReset { context.refresh(album, mergeChanges: true) }
          for name in Self.lists.keys.sorted() {
            if let found = try Self.difference(of: name, of: album, offset) { return found }
          }
        }
        return nil
      }
      if let found { return "context \(index): \(found)" }
    }
    return nil
  }

  private static func difference(of name: String, of album: ManagedObject, _ offset: Int) throws -> String? {
    guard let context = album.managedObjectContext, let relationship = album.entity.relationship(named: name),
      let entity = lists[name]
    else { return "no context" }
    let request: MemberRequest<ManagedObject>
    let (count, isEmpty, first): (Int, Bool, ManagedObject?)
    let contains: (ManagedObject) -> Bool
    if relationship.isOrdered {
      let members = album[OrderedToManyKey<ManagedObject>(name)]
      (count, isEmpty, first, request) = (members.count, members.isEmpty, members.first, members.request)
      contains = { members.contains($0) }
    } else {
      let members = album[ToManyKey<ManagedObject>(name)]
      (count, isEmpty, first, request) = (members.count, members.isEmpty, members.first, members.request)
      contains = { members.contains($0) }
    }
    let candidates = try context.fetch(FetchRequest<ManagedObject>(entityName: entity).limit(6))
    let contained = candidates.map(contains)
    let page = try request.limit(2, offset: offset).fetch()
    let beyond = try request.limit(3, offset: 40).fetch()
    let sorted = try request.sort("length", .reverse).limit(3, offset: offset).fetch().map(length)
    let long = request.filter(.comparison(.path(PropertyPath("length")), .greater, .value(.int(4))))
    let longCount = try long.count()
    let longPage = try long.limit(2).fetch()

    let list = try album.objects(for: name)
    let lengths = try list.map(length).sorted(by: >)
    let allLong = try list.filter { try length($0) > 4 }
    func part<T>(_ all: [T], _ limit: Int, _ offset: Int) -> [T] { Array(all.dropFirst(offset).prefix(limit)) }
    let checks: [(String, Bool)] = [
      ("count \(count)", count == list.count), ("isEmpty", isEmpty == list.isEmpty), ("first", first == list.first),
      ("contains", contained == candidates.map { list.contains($0) }),
      ("page \(page.map(\.objectID))", page == part(list, 2, offset)), ("beyond", beyond.isEmpty),
      ("sorted \(sorted)", sorted == part(lengths, 3, offset)),
      ("count of long \(longCount)", longCount == allLong.count),
      ("long \(longPage.map(\.objectID))", longPage == part(allLong, 2, 0)),
    ]
    guard let wrong = checks.first(where: { !$0.1 }) else { return nil }
    return "'\(name)', \(wrong.0), the list has \(list.map(\.objectID)) with the lengths \(try list.map(length))"
  }

  private static func length(_ object: ManagedObject) throws -> Int { try object.value(for: "length", as: Int.self) }

  // MARK: Work

  mutating func step() throws -> String {
    let index = random.next(below: contexts.count)
    let context = contexts[index]
    var random = random
    defer { self.random = random }
    let name = try context.performAndWait { try Self.act(in: context, &random) }
    return "context \(index), \(name)"
  }

  private static func act(in context: ManagedObjectContext, _ random: inout SeededRandom) throws -> String {
    switch random.next(below: 12) {
    case 0..<2:
      let entity = ["Track", "Bonus", "Tag", "Cover"][random.next(below: 4)]
      try context.insertNewObject(forEntityName: entity).setValue(random.next(below: 9), for: "length")
      return "insert \(entity)"
    case 2..<6: return try relate(in: context, &random)
    case 6:
      let entity = ["Track", "Tag", "Cover"][random.next(below: 3)]
      guard let member = try one(entity, in: context, &random) else { return "nothing" }
      try member.setValue(random.next(below: 9), for: "length")
      return "edit \(entity)"
    case 7:
      let entity = ["Track", "Bonus", "Tag", "Cover", "Album"][random.next(below: 5)]
      guard let member = try one(entity, in: context, &random) else { return "nothing" }
      context.delete(member)
      return "delete \(entity)"
    case 8:
      context.rollback()
      return "rollback"
    case 9:
      let entity = ["Track", "Tag", "Cover"][random.next(below: 3)]
      let few = FetchPredicate.comparison(
        .path(PropertyPath("length")), .equal, .value(.int(Int64(random.next(below: 9)))))
      if random.isTrue(0.7) {
        try context.execute(BatchUpdateRequest(entityName: entity, predicate: few, values: ["length": 5]))
      } else {
        try context.execute(BatchDeleteRequest(entityName: entity, predicate: few))
      }
      return "batch request for \(entity)"
    default:
      do {
        try context.save()
        return "save"
      } catch {
        context.rollback()
        return "failed save"
      }
    }
  }

  private static func one(
    _ entity: String, in context: ManagedObjectContext, _ random: inout SeededRandom
  ) throws -> ManagedObject? {
    let found = try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
    return found.isEmpty ? nil : found[random.next(below: found.count)]
  }

  private static func relate(in context: ManagedObjectContext, _ random: inout SeededRandom) throws -> String {
    let name = lists.keys.sorted()[random.next(below: lists.count)]
    guard let album = try one("Album", in: context, &random), let entity = lists[name],
      let member = try one(entity, in: context, &random), let relationship = album.entity.relationship(named: name)
    else { return "nothing" }
    let action = random.next(below: 5)
    switch (action, relationship.isOrdered) {
    case (0, true): album[OrderedToManyKey<ManagedObject>(name)].remove(member)
    case (0, false): album[ToManyKey<ManagedObject>(name)].remove(member)
    case (1, _):
      let members = try album.objects(for: name).filter { _ in random.isTrue(0.7) }
      try album.setObjects(members.shuffled(using: &random), for: name)
    case (2, _) where relationship.inverse?.isToMany == false:
      try member.setObject(random.isTrue(0.3) ? nil : album, for: "album")
    case (_, true): album[OrderedToManyKey<ManagedObject>(name)].append(member)
    case (_, false): album[ToManyKey<ManagedObject>(name)].insert(member)
    }
    return "\(name), \(action)"
  }
}
