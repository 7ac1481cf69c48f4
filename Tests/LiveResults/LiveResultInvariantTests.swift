import CoherenceCore
import CoherenceStrategies
import Foundation
import Testing
import TestRandom
import TestSupport

/// Random work in several contexts: after each step, every live result equals a fresh fetch, and its changes lead there.
///
/// `COHERENCE_LIVE_RESULT_STEPS` is the number of steps, 80 unless given.
@MainActor
@Suite("Live results under random work", .timeLimit(.minutes(15)))
struct LiveResultInvariantTests {
  nonisolated private static let steps =
    ProcessInfo.processInfo.environment["COHERENCE_LIVE_RESULT_STEPS"].flatMap(Int.init) ?? 80

  @Test(arguments: LiveStrategy.allCases, Backend.available)
  func `after each random step every live result equals a fresh fetch`(
    strategy: LiveStrategy, backend: Backend
  ) throws {
    for (seed, isFamily) in SeededRandom.seeds.flatMap({ [($0, false), ($0, true)] }) {
      var work = try RandomLiveWork(strategy, backend, seed: seed, isFamily: isFamily)
      for step in 0..<Self.steps {
        let action = try work.step()
        if let difference = try work.difference() {
          Issue.record("COHERENCE_SEED=\(seed), family: \(isFamily), step \(step) (\(action)): \(difference)")
          return
        }
      }
      #expect(work.changeCount == Self.steps, "COHERENCE_SEED=\(seed)")
    }
  }
}

/// Contexts with watchers, and random work in them.
@MainActor
private struct RandomLiveWork {
  private let stack: LiveLibrary.Stack
  private var random: SeededRandom
  private let contexts: [ManagedObjectContext]
  private let watchers: [LiveWatcher]
  private(set) var changeCount = 0

  /// - Parameter isFamily: Whether the view and its child work alone.
  init(_ strategy: LiveStrategy, _ backend: Backend, seed: UInt64, isFamily: Bool) throws {
    stack = try LiveLibrary.Stack(strategy, on: backend)
    random = SeededRandom(seed: seed)
    let view = stack.view
    let child = ManagedObjectContext(parent: view)
    let backgrounds = [stack.container.newBackgroundContext(), stack.container.newBackgroundContext()]
    contexts = isFamily ? [view, child] : [view, child] + backgrounds
    for context in contexts { context.mergePolicy = .objectTrumps }
    let watched = isFamily ? [view, child] : [view, child, backgrounds[0]]
    var watchers: [LiveWatcher] = []
    for (index, context) in watched.enumerated() {
      // Other contexts do not follow, so that their fetches evaluate paths by the objects that they have loaded.
      let follows = index == 0 && (isFamily || strategy != .directIndependent)
      for (name, request, path) in try Self.requests(withPaths: follows) {
        watchers.append(try LiveWatcher("context \(index), \(name)", request, in: context, sections: path))
      }
    }
    self.watchers = watchers
  }

  private typealias Watched = (String, FetchRequest<ManagedObject>, String?)

  private static func requests(withPaths: Bool) throws -> [Watched] {
    let tracks = LiveLibrary.tracks
    let artists = FetchRequest<ManagedObject>(entityName: "Artist")
    let plain: [Watched] = [
      ("all by title", tracks.sort("title"), nil),
      ("without an order", tracks, nil),
      (
        "filtered", tracks.filter(try FetchPredicate(format: "genre == 'a' AND length > 4")).sort("length", .reverse),
        nil
      ),
      ("sections", tracks.sort("genre").sort("title"), "genre"),
      ("a range", tracks.sort("length").limit(4, offset: 2), nil),
      ("a range in sections", tracks.sort("genre").limit(6), "genre"),
      ("sections, missing genres last", tracks.sort("genre", missingValues: .last).sort("title"), "genre"),
      ("a range, missing genres first", tracks.sort("genre", .reverse, missingValues: .first).limit(4), nil),
      ("an offset", FetchRequest(entityName: "Bonus").sort("title").limit(100, offset: 1), nil),
    ]
    guard withPaths else { return plain }
    let paths: [Watched] = [
      ("a path", tracks.filter(try FetchPredicate(format: "artist.rating > 2")).sort("artist.name").sort("title"), nil),
      ("an order over a path", tracks.sort("artist.name", .reverse), nil),
      ("a count", artists.filter(try FetchPredicate(format: "tracks.@count > 1")).sort("name"), nil),
      ("members", artists.filter(try FetchPredicate(format: "ANY tracks.genre == 'b'")).sort("name"), nil),
      ("links", tracks.filter(try FetchPredicate(format: "ANY tags.name == 'x'")).sort("title"), nil),
      ("a far list", tracks.filter(try FetchPredicate(format: "artist.tracks.@count > 2")).sort("title"), nil),
    ]
    return plain + paths
  }

  func difference() throws -> String? {
    for watcher in watchers {
      if let difference = try watcher.difference() { return difference }
    }
    return nil
  }

  // MARK: Work

  mutating func step() throws -> String {
    let index = random.next(below: contexts.count)
    let context = contexts[index]
    var random = random
    defer { self.random = random }
    changeCount += 1
    let action = random.next(below: 25)
    let name = try context.performAndWait { try Self.act(action, in: context, &random) }
    return "context \(index), \(name)"
  }

  private static func act(_ action: Int, in context: ManagedObjectContext, _ random: inout SeededRandom) throws
    -> String
  {
    switch action {
    case 0..<4: return try insert(in: context, &random)
    case 4..<9: return try edit(in: context, &random)
    case 9..<11: return try relate(in: context, &random)
    case 11: return try delete(in: context, &random)
    case 12..<16: return save(context)
    case 16:
      context.rollback()
      return "rollback"
    case 17:
      context.reset()
      return "reset"
    case 18:
      let predicate = try FetchPredicate(format: "length == %@", random.next(below: 10))
      let values: [String: (any AttributeConvertible)?] =
        random.isTrue(0.5) ? ["genre": "ab".randomElement(using: &random).map(String.init)] : ["plays": 7]
      try context.execute(BatchUpdateRequest(entityName: "Track", predicate: predicate, values: values))
      return "batch update"
    case 20:
      let titles = (0...random.next(below: 3)).map { _ in "title \(random.next(below: 30))" }
      let rows = titles.map { ["title": AttributeValue.string($0), "length": .int(4), "plays": .int(0)] }
      try context.execute(BatchInsertRequest(entityName: "Bonus", rows: rows))
      return "batch insert"
    case 21..<25: return try refresh(action, in: context, &random)
    default:
      guard random.isTrue(0.3) else { return save(context) }
      let predicate = try FetchPredicate(format: "length == %@", random.next(below: 10))
      try context.execute(BatchDeleteRequest(entityName: "Track", predicate: predicate))
      return "batch delete"
    }
  }

  private static func refresh(
    _ action: Int, in context: ManagedObjectContext, _ random: inout SeededRandom
  ) throws -> String {
    switch action {
    case 21:
      context.refreshAll()
      return "refresh of all"
    case 22:
      let objects = context.insertedObjects.filter { _ in random.isTrue(0.5) }
      try context.obtainPermanentIDs(for: Array(objects))
      return "permanent identifiers"
    case 23:
      // From the other side of the relationship.
      guard let tag = try one("Tag", in: context, &random), !tag.isDeleted else { return "nothing" }
      let track = random.isTrue(0.3) ? nil : try one("Track", in: context, &random)
      try tag.setObjects([track].compactMap { $0 }, for: "tracks")
      return random.isTrue(0.5) ? "tracks of a tag, " + save(context) : "tracks of a tag"
    default:
      let changed = context.updatedObjects.union(context.deletedObjects)
      guard let object = changed.min(by: { "\($0.objectID)" < "\($1.objectID)" }) else { return "nothing" }
      let merges = random.isTrue(0.5)
      context.refresh(object, mergeChanges: merges)
      return "refresh of an object, merging: \(merges)"
    }
  }

  private static func save(_ context: ManagedObjectContext) -> String {
    do {
      try context.save()
      if random(context) { try context.parent?.performAndWait { try context.parent?.save() } }
      return "save"
    } catch {
      // Another context deleted a record, for example.
      context.rollback()
      return "failed save"
    }
  }

  private static func random(_ context: ManagedObjectContext) -> Bool { context.registeredObjects.count % 3 == 0 }

  private static func insert(in context: ManagedObjectContext, _ random: inout SeededRandom) throws -> String {
    for _ in 0...random.next(below: 3) {
      let name = ["Track", "Track", "Bonus", "Artist", "Tag"][random.next(below: 5)]
      let object = try context.insertNewObject(forEntityName: name)
      for attribute in object.entity.attributes { try set(attribute.name, of: object, &random) }
    }
    if random.isTrue(0.3) { return "insert, " + (try relate(in: context, &random)) }
    return "insert"
  }

  private static func set(_ name: String, of object: ManagedObject, _ random: inout SeededRandom) throws {
    switch name {
    case "genre": try object.setValue([nil, "a", "b", "c"][random.next(below: 4)] as String?, for: name)
    case "name": try object.setValue(["x", "y", "z"][random.next(below: 3)], for: name)
    case "rating": try object.setValue(random.next(below: 5), for: name)
    case "length", "plays": try object.setValue(random.next(below: 10), for: name)
    default: try object.setValue("\(name) \(random.next(below: 30))", for: name)
    }
  }

  private static func one(
    _ entity: String, in context: ManagedObjectContext, _ random: inout SeededRandom
  ) throws -> ManagedObject? {
    let ids = try context.fetchIDs(FetchRequest<ManagedObject>(entityName: entity))
    guard !ids.isEmpty else { return nil }
    let id = ids[random.next(below: ids.count)]
    return try context.objects(for: [id]).first
  }

  private static func edit(in context: ManagedObjectContext, _ random: inout SeededRandom) throws -> String {
    let entity = ["Track", "Track", "Artist", "Tag"][random.next(below: 4)]
    guard let object = try one(entity, in: context, &random), !object.isDeleted else { return "nothing" }
    let attribute = object.entity.attributes[random.next(below: object.entity.attributes.count)]
    try set(attribute.name, of: object, &random)
    if random.isTrue(0.5) { return "edit, " + save(context) }
    return "edit"
  }

  private static func relate(in context: ManagedObjectContext, _ random: inout SeededRandom) throws -> String {
    guard let track = try one("Track", in: context, &random), !track.isDeleted else { return "nothing" }
    if random.isTrue(0.5) {
      try track.setObject(random.isTrue(0.2) ? nil : try one("Artist", in: context, &random), for: "artist")
      return "artist"
    }
    let tag = try one("Tag", in: context, &random)
    try track.setObjects(random.isTrue(0.3) ? [] : [tag].compactMap { $0 }, for: "tags")
    return "tags"
  }

  private static func delete(in context: ManagedObjectContext, _ random: inout SeededRandom) throws -> String {
    let entity = ["Track", "Artist", "Tag"][random.next(below: 3)]
    guard let object = try one(entity, in: context, &random) else { return "nothing" }
    context.delete(object)
    return "delete \(entity)"
  }
}
