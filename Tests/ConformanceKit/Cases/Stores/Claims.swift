import CoherenceCore
import Foundation
import Synchronization

extension ConformanceSubject {
  static let claims = ConformanceSubject("Claims") {
    choices
    readOnlyStores
    races
    announcementsOfClaims
    refusals
    lostRaces
  }

  /// A case for the store as it is, and for a store of another package without claims of its own.
  private static func both(
    _ name: String, run: @escaping @Sendable (ConformanceStack) async throws -> Void
  ) -> [Case] {
    [
      Case(name, run: run),
      Case(name + ", in a store without claims of its own") { stack in
        _ = try stack.interpose()
        try await run(stack)
      },
    ]
  }

  /// Saves unclaimed albums with the titles.
  private static func fill(_ stack: ConformanceStack, _ titles: String) throws {
    try stack.write { context in
      for title in titles.reversed() { try context.make("Album", ["title": String(title), "year": 1]) }
    }
  }

  /// The unclaimed albums, by title.
  private static var free: FetchRequest<ManagedObject> {
    FetchRequest(entityName: "Album").filter(equal("isLive", false)).sort("title")
  }

  /// Claims albums in a context of its own, and returns their titles.
  @discardableResult
  private static func claim(
    _ coordinator: PersistentStoreCoordinator, limit: Int, _ request: FetchRequest<ManagedObject> = free
  ) throws -> [String] {
    let context = ManagedObjectContext(coordinator: coordinator)
    return try context.performAndWait {
      try context.claim(request, limit: limit, set: ["isLive": true]).map { try context.existing($0).label }
    }
  }

  private static func freeTitles(_ stack: ConformanceStack) throws -> [String] {
    try stack.read { try $0.names("Album", where: equal("isLive", false)) }
  }

  @CasesBuilder private static var choices: [Case] {
    both("a claim takes the first records of its order, as many as its limit") { stack in
      try fill(stack, "ABCDE")
      try expectEqual(try claim(stack.coordinator, limit: 2), ["A", "B"])
      try expectEqual(try freeTitles(stack), ["C", "D", "E"])
    }
    both("a claim takes the records of its condition only") { stack in
      try fill(stack, "ABC")
      let wanted = free.filter(among("title", ["B", "X"]))
      try expectEqual(try claim(stack.coordinator, limit: 10, wanted), ["B"])
      try expectEqual(try freeTitles(stack), ["A", "C"])
    }
    both("a claim follows a descending order and the smaller of two limits") { stack in
      try fill(stack, "ABC")
      let last = FetchRequest<ManagedObject>(entityName: "Album").filter(equal("isLive", false))
        .sort("title", .reverse).limit(2)
      try expectEqual(try claim(stack.coordinator, limit: 10, last), ["C", "B"])
      try expectEqual(try claim(stack.coordinator, limit: 0), [])
      try expectEqual(try freeTitles(stack), ["A"])
    }
    both("a claim with a pattern takes the matching records in order") { stack in
      try stack.write { context in
        for title in ["B2", "A10", "C3", "A1"] { try context.make("Album", ["title": title]) }
      }
      let short = free.filter(compare("title", .matches, "[A-Z][0-9]"))
      try expectEqual(try claim(stack.coordinator, limit: 2, short), ["A1", "B2"])
      try expectEqual(try freeTitles(stack), ["A10", "C3"])
    }
    both("a claim raises the versions of the claimed records alone") { stack in
      try fill(stack, "AB")
      try claim(stack.coordinator, limit: 1)
      try stack.read { context in
        let versions = try context.all("Album", sort: [SortKey("title")]).map(\.version)
        try expectEqual(versions, [2, 1])
      }
    }
    both("a claim of an entity takes records of its subentities") { stack in
      try stack.write { context in
        try context.make("Legend", ["name": "A"])
        try context.make("Band", ["name": "B"])
      }
      try stack.read { context in
        let request = FetchRequest<ManagedObject>(entityName: "Performer").filter(equal("country", nil)).sort("name")
        try expectEqual(try context.claim(request, limit: 5, set: ["country": "XX"]).count, 2)
        try expectEqual(try context.one("Legend").value(for: "country"), .string("XX"))
        try expectEqual(try context.one("Legend").value(for: "honours"), .int(1))
      }
    }
  }

  @CasesBuilder private static var readOnlyStores: [Case] {
    Case("a claim takes the records of the stores that are not read-only") { stack in
      try fill(stack, "AB")
      try stack.close()
      let coordinator = stack.makeCoordinator()
      let archive = try stack.attach(stack.location, to: coordinator, options: [StoreOption.readOnly: true])
      let writable = try stack.attach(try stack.makeLocation(), to: coordinator)
      try expectEqual(try claim(coordinator, limit: 5), [])
      let context = ManagedObjectContext(coordinator: coordinator)
      try context.performAndWait {
        let album = try context.make("Album", ["title": "C", "year": 1])
        try context.assign(album, to: writable)
        try context.save()
        try expectEqual(try claim(coordinator, limit: 5), ["C"])
        try expectThrows(.storeReadOnly) { try context.claim(free, limit: 1, in: archive, set: ["isLive": true]) }
        try expectEqual(try context.number(of: "Album", where: equal("isLive", false)), 2)
      }
    }
  }

  @CasesBuilder private static var races: [Case] {
    both("two coordinators of one store claim different records") { stack in
      try fill(stack, "ABCDE")
      let other = try stack.anotherCoordinator()
      try expectEqual(try claim(stack.coordinator, limit: 2), ["A", "B"])
      try expectEqual(try claim(other, limit: 2), ["C", "D"])
      try expectEqual(try claim(stack.coordinator, limit: 2), ["E"])
      try expectEqual(try claim(other, limit: 2), [])
    }
    both("concurrent claims of several contexts and coordinators take every record once") { stack in
      let titles = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
      try fill(stack, titles)
      let coordinators = [stack.coordinator, stack.coordinator, try stack.anotherCoordinator()]
      let claimed = try await withThrowingTaskGroup(of: [String].self) { group in
        for coordinator in coordinators {
          group.addTask {
            var mine: [String] = []
            while case let titles = try claim(coordinator, limit: 2), !titles.isEmpty { mine += titles }
            return mine
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      try expectEqual(claimed.sorted(), titles.map(String.init))
    }
  }

  @CasesBuilder private static var announcementsOfClaims: [Case] {
    both("a claim shows in the objects of the context and of its followers") { stack in
      try fill(stack, "A")
      let follower = stack.context()
      let context = stack.context()
      follower.follow(context)
      let (mine, followed) = (
        try context.performAndWait { try context.one("Album").objectID },
        try follower.performAndWait { try follower.one("Album") }
      )
      try follower.performAndWait { try expectEqual(try followed.value(for: "isLive"), .bool(false)) }
      try context.performAndWait {
        let album = try context.existing(mine)
        try expectEqual(try context.claim(free, limit: 1, set: ["isLive": true]), [mine])
        try expectEqual(try album.value(for: "isLive"), .bool(true))
        try expect(!context.hasChanges, "nothing to save")
      }
      try follower.performAndWait { try expectEqual(try followed.value(for: "isLive"), .bool(true)) }
    }
    both("a claim is announced to the streams of changes of the entity") { stack in
      try fill(stack, "A")
      var changes = try stack.coordinator.entityChanges(of: "Album").makeAsyncIterator()
      let ids = try stack.read { try $0.claim(free, limit: 1, set: ["isLive": true]) }
      let announced = try unwrap(await changes.next())
      try expectEqual(Array(announced.updated), ids)
    }
    both("a save of a record that another context has claimed is a conflict") { stack in
      try fill(stack, "A")
      try stack.read { context in
        let album = try context.one("Album")
        try album.load()
        try claim(stack.coordinator, limit: 1)
        try album.setValue("B", for: "title")
        try expectThrows(.versionConflict) { try context.save() }
      }
    }
  }

  @CasesBuilder private static var refusals: [Case] {
    both("a claim that the store refuses leaves all records free") { stack in
      try fill(stack, "AB")
      try stack.read { context in
        let request = FetchRequest<ManagedObject>(entityName: "Album").filter(equal("barcode", nil)).sort("title")
        try expectThrows(.uniquenessViolated) { try context.claim(request, limit: 2, set: ["barcode": "1"]) }
        try expectEqual(try context.number(of: "Album", where: equal("barcode", nil)), 2)
        try expectEqual(try context.all("Album").map(\.version), [1, 1])
        try expectEqual(try context.claim(request, limit: 1, set: ["barcode": "1"]).count, 1)
      }
      try expectEqual(try claim(stack.coordinator, limit: 2), ["A", "B"])
    }
    Case("a claim with a negative limit, an offset or no value is refused") { stack in
      try fill(stack, "A")
      try stack.read { context in
        var skipping = free
        skipping.fetchOffset = 1
        var negative = free
        negative.fetchLimit = -1
        try expectThrows(.invalidFetchRequest) { try context.claim(free, limit: -1, set: ["isLive": true]) }
        try expectThrows(.invalidFetchRequest) { try context.claim(negative, limit: 1, set: ["isLive": true]) }
        try expectThrows(.invalidFetchRequest) { try context.claim(skipping, limit: 1, set: ["isLive": true]) }
        try expectThrows(.invalidFetchRequest) { try context.claim(free, limit: 1, set: [:]) }
        try expectThrows(.wrongType) { try context.claim(free, limit: 1, set: ["artist": "A"]) }
        try expectThrows(.missingValue) { try context.claim(free, limit: 1, set: ["title": nil]) }
        try expectThrows(.unknownProperty) { try context.claim(free.sort("colour"), limit: 1, set: ["isLive": true]) }
      }
      try expectEqual(try freeTitles(stack), ["A"])
    }
    Case("a claim in a store of another coordinator is refused") { stack in
      try fill(stack, "A")
      let other = try stack.anotherCoordinator()
      let stranger = try unwrap(other.persistentStores.first)
      try stack.read { context in
        try expectThrows(.noStore) { try context.claim(free, limit: 1, in: stranger, set: ["isLive": true]) }
        try expectEqual(try context.claim(free, limit: 1, in: try stack.store, set: ["isLive": true]).count, 1)
      }
    }
  }

  @CasesBuilder private static var lostRaces: [Case] {
    Case("a claim that loses its record to another writer takes the next record") { stack in
      try fill(stack, "ABC")
      let interposition = try stack.interpose()
      let other = try stack.anotherCoordinator()
      let faster = Mutex<[String]>([])
      interposition.beforeSave { _ in
        interposition.beforeSave(nil)
        let titles = try claim(other, limit: 1)
        faster.withLock { $0 = titles }
      }
      try expectEqual(try claim(stack.coordinator, limit: 1), ["B"])
      try expectEqual(faster.withLock { $0 }, ["A"])
      try expectEqual(try freeTitles(stack), ["C"])
    }
  }
}
