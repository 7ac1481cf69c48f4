import CoherenceCore
import Synchronization

/// The store enforces the bounds of a relationship independently of the rows that a saver has read.
extension ConformanceSubject {
  static let memberCounts = ConformanceSubject("Member counts") {
    tooMany("a one-to-many relationship", "players", "Player", places: 4)
    tooMany("an ordered relationship", "reserves", "Reserve", places: 2)
    tooMany("a many-to-many relationship", "sponsors", "Sponsor", places: 2)
    tooMany("a relationship without inverse", "trophies", "Trophy", places: 2)
    tooFew
    batches
    requests
    races
  }

  // MARK: Fixtures

  /// A squad with a player of the same name.
  @discardableResult
  private static func makeSquad(_ name: String, in context: ManagedObjectContext) throws -> ManagedObject {
    let squad = try context.make("Squad", ["name": name])
    try context.make("Player", ["name": name]).setObject(squad, for: "squad")
    return squad
  }

  private static func findSquad(_ name: String, of context: ManagedObjectContext) throws -> ManagedObject {
    try context.one("Squad", where: equal("name", name))
  }

  private static func findPlayer(_ name: String, of context: ManagedObjectContext) throws -> ManagedObject {
    try context.one("Player", where: equal("name", name))
  }

  private static func add(_ entity: String, _ name: String, to relationship: String, of squad: ManagedObject) throws {
    guard let context = squad.managedObjectContext else { throw ConformanceFailure("expected a context") }
    let members = try squad.objects(for: relationship)
    try squad.setObjects(members + [try context.make(entity, ["name": name])], for: relationship)
  }

  private static func number(of relationship: String, in stack: ConformanceStack) throws -> Int {
    try stack.read { try findSquad("A", of: $0).objects(for: relationship).count }
  }

  /// Two writers both read the members of squad A. The first saves before the second changes a member.
  private static func race(
    _ stack: ConformanceStack, _ policy: MergePolicy = .error, over relationships: [String],
    first: (ManagedObject, ManagedObjectContext) throws -> Void,
    second: (ManagedObject, ManagedObjectContext) throws -> Void
  ) throws {
    let late = stack.context(policy)
    try late.performAndWait {
      let squad = try findSquad("A", of: late)
      for relationship in relationships { _ = try squad.objects(for: relationship).map { try $0.load() } }
      try stack.write { try first(try findSquad("A", of: $0), $0) }
      try second(squad, late)
      try late.save()
    }
  }

  // MARK: Too many

  /// A squad A with some members.
  private static func fill(_ stack: ConformanceStack, _ entity: String, _ relationship: String, _ count: Int) throws {
    try stack.write { context in
      let squad = try makeSquad("A", in: context)
      let present = try squad.objects(for: relationship).count
      for number in present..<count { try add(entity, "\(number)", to: relationship, of: squad) }
    }
  }

  @CasesBuilder private static func tooMany(
    _ what: String, _ relationship: String, _ entity: String, places: Int
  ) -> [Case] {
    Case("the last place in \(what) is had by one of two writers", model: Squads.model) { stack in
      try fill(stack, entity, relationship, places - 1)
      // An ordered list has a version, which is looked at first.
      try expectThrows(relationship == "reserves" ? .versionConflict : .validationFailed) {
        try race(stack, over: [relationship]) { squad, _ in
          try add(entity, "first", to: relationship, of: squad)
        } second: { squad, _ in
          try add(entity, "second", to: relationship, of: squad)
        }
      }
      try expectEqual(try number(of: relationship, in: stack), places)
      try stack.read { try expectEqual(try $0.number(of: entity, where: equal("name", "second")), 0) }
    }
    Case("no merge policy overfills \(what), and the refusal says which owner", model: Squads.model) { stack in
      try fill(stack, entity, relationship, places - 1)
      let error = try expectThrows(.validationFailed) {
        try race(stack, .objectTrumps, over: [relationship]) { squad, _ in
          try add(entity, "first", to: relationship, of: squad)
        } second: { squad, _ in
          try add(entity, "second", to: relationship, of: squad)
        }
      }
      try expectEqual(error.failures.map(\.code), [.invalidValue])
      try expectEqual(error.failures.map(\.propertyName), [relationship])
      try expectEqual(error.failures.map(\.entityName), ["Squad"])
      try expectEqual(error.outcome, .notApplied)
      let owner = try stack.read { try findSquad("A", of: $0).objectID }
      try expectEqual(error.failures.map(\.objectID), [owner])
      try expectEqual(error.objectIDs, [owner])
    }
  }

  // MARK: Too few

  @CasesBuilder private static var tooFew: [Case] {
    Case("two writers who each leave one member cannot remove the last one", model: Squads.model) { stack in
      try stack.write { try add("Player", "second", to: "players", of: try makeSquad("A", in: $0)) }
      let error = try expectThrows(.validationFailed) {
        try race(stack, over: ["players"]) { squad, context in
          context.delete(try findPlayer("A", of: context))
        } second: { squad, context in
          context.delete(try squad.objects(for: "players").first { try $0.label == "second" }!)
        }
      }
      try expectEqual(error.failures.map(\.code), [.missingValue])
      try expectEqual(try number(of: "players", in: stack), 1)
    }
    Case("the last member does not move to another owner after another writer removed the other", model: Squads.model) {
      stack in
      try stack.write { context in
        try makeSquad("B", in: context)
        try add("Player", "second", to: "players", of: try makeSquad("A", in: context))
      }
      try expectThrows(.validationFailed) {
        try race(stack, over: ["players"]) { _, context in
          try findPlayer("A", of: context).setObject(try findSquad("B", of: context), for: "squad")
        } second: { squad, context in
          let second = try squad.objects(for: "players").first { try $0.label == "second" }
          try second?.setObject(try findSquad("B", of: context), for: "squad")
        }
      }
      try expectEqual(try number(of: "players", in: stack), 1)
    }
    Case("a member does not move to an owner that another writer filled", model: Squads.model) { stack in
      try stack.write { context in
        let other = try makeSquad("B", in: context)
        try add("Player", "mover", to: "players", of: other)
        let squad = try makeSquad("A", in: context)
        for name in ["2", "3"] { try add("Player", name, to: "players", of: squad) }
      }
      try expectThrows(.validationFailed) {
        try race(stack, over: ["players"]) { squad, _ in
          try add("Player", "4", to: "players", of: squad)
        } second: { squad, context in
          try findPlayer("mover", of: context).setObject(squad, for: "squad")
        }
      }
      try expectEqual(try number(of: "players", in: stack), 4)
      try stack.read { try expectEqual(try findPlayer("mover", of: $0).object(for: "squad")?.label, "B") }
    }
    Case("links on the other side are counted too", model: Squads.model) { stack in
      try stack.write { context in
        let sponsor = try context.make("Sponsor", ["name": "S"])
        try sponsor.setObjects([try makeSquad("A", in: context), try makeSquad("B", in: context)], for: "squads")
      }
      let late = stack.context()
      try late.performAndWait {
        let sponsor = try late.one("Sponsor")
        let squads = try sponsor.objects(for: "squads")
        try stack.write { try findSquad("A", of: $0).setObjects([], for: "sponsors") }
        let other = try unwrap(try squads.first { try $0.label == "B" })
        try other.setObjects([], for: "sponsors")
        try expectThrows(.validationFailed) { try late.save() }
      }
      try stack.read { try expectEqual(try $0.one("Sponsor").labels(of: "squads"), ["B"]) }
    }
    Case("an owner deleted with its members needs none", model: Squads.model) { stack in
      try stack.write { try makeSquad("A", in: $0) }
      try stack.write { context in
        context.delete(try findPlayer("A", of: context))
        context.delete(try findSquad("A", of: context))
      }
      try stack.read { try expectEqual(try $0.number(of: "Squad"), 0) }
    }
    Case(
      "after a refusal by the number of members the context is unchanged, and its save passes once there is room",
      model: Squads.model
    ) { stack in
      try stack.write { context in
        let squad = try makeSquad("A", in: context)
        for name in ["2", "3"] { try add("Player", name, to: "players", of: squad) }
      }
      try stack.read { context in
        let squad = try findSquad("A", of: context)
        _ = try squad.objects(for: "players")
        try stack.write { try add("Player", "4", to: "players", of: try findSquad("A", of: $0)) }
        try add("Player", "5", to: "players", of: squad)
        for _ in 0..<2 { try expectThrows(.validationFailed) { try context.save() } }
        try expectEqual(try squad.labels(of: "players"), ["2", "3", "5", "A"])
        try expectEqual(context.insertedObjects.count, 1)
        try stack.write { $0.delete(try findPlayer("4", of: $0)) }
        try context.save()
      }
      try expectEqual(try number(of: "players", in: stack), 4)
    }
  }

  // MARK: Batch requests

  @CasesBuilder private static var batches: [Case] {
    Case("a batch delete does not validate and may delete the last members", model: Squads.model) { stack in
      try stack.write { try makeSquad("A", in: $0) }
      try stack.read { try $0.execute(BatchDeleteRequest(entityName: "Player")) }
      try stack.read { try expectEqual(try $0.names("Player"), []) }
    }
  }

  // MARK: Requested counts

  @CasesBuilder private static var requests: [Case] {
    Case("the store counts the members of changed owners only", model: Squads.model) { stack in
      try stack.write { context in
        for name in ["A", "B", "C"] { try makeSquad(name, in: context) }
        try add("Player", "mover", to: "players", of: try findSquad("A", of: context))
      }
      let interposition = try stack.interpose()
      let noted = NotedChecks()
      interposition.beforeSave { request in noted.checks.withLock { $0 = request.memberCounts } }
      func owners(_ change: (ManagedObjectContext) throws -> Void) throws -> [String: [Int64]] {
        try stack.write(change)
        return Dictionary(
          noted.checks.withLock { $0 }.map { ($0.relationship.name, $0.owners) },
          uniquingKeysWith: { first, _ in first })
      }
      let keys = try stack.read { context in
        try ["A", "B", "C"].map { try findSquad($0, of: context).objectID.key }
      }
      try expectEqual(
        try owners { try findPlayer("mover", of: $0).setObject(try findSquad("B", of: $0), for: "squad") },
        ["players": [keys[0], keys[1]].sorted()])
      try expectEqual(try owners { $0.delete(try findPlayer("mover", of: $0)) }, ["players": [keys[1]]])
      try expectEqual(
        try owners { try add("Trophy", "cup", to: "trophies", of: try findSquad("C", of: $0)) }, ["trophies": [keys[2]]]
      )
      try expectEqual(try owners { try add("Fan", "fan", to: "fans", of: try findSquad("C", of: $0)) }, [:])
      try expectEqual(try owners { try findSquad("C", of: $0).setValue("D", for: "name") }, [:])
      try expectEqual(try owners { try makeSquad("E", in: $0) }, [:])
    }
    Case("a save of a model without bounds asks for no numbers of members") { stack in
      let interposition = try stack.interpose()
      let noted = NotedChecks()
      interposition.beforeSave { request in noted.checks.withLock { $0 += request.memberCounts } }
      try stack.write { try Music.fill($0) }
      try stack.write { $0.delete(try $0.one("Album", where: equal("title", "Kind of Blue"))) }
      try expectEqual(noted.checks.withLock { $0.count }, 0)
    }
  }

  // MARK: Many writers

  @CasesBuilder private static var races: [Case] {
    Case("eight writers fill every place and no more", model: Squads.model) { stack in
      for round in 0..<8 {
        let name = "squad \(round)"
        try stack.write { try makeSquad(name, in: $0) }
        let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
          for writer in 0..<8 {
            group.addTask {
              do {
                try stack.write { context in
                  let player = try context.make("Player", ["name": "\(round).\(writer)"])
                  try player.setObject(try findSquad(name, of: context), for: "squad")
                }
                return true
              } catch ErrorCode.validationFailed {
                return false
              }
            }
          }
          return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        try expectEqual(taken, 3, "the number of successful writers")
        try stack.read { try expectEqual(try findSquad(name, of: $0).objects(for: "players").count, 4) }
      }
    }
    Case("concurrent deletes of all members leave one member", model: Squads.model) { stack in
      for round in 0..<8 {
        let name = "squad \(round)"
        let ids = try stack.write { context in
          let squad = try makeSquad(name, in: context)
          for number in 1..<4 { try add("Player", "\(round).\(number)", to: "players", of: squad) }
          try context.save()
          return try squad.objects(for: "players").map(\.objectID)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
          for id in ids {
            group.addTask {
              do {
                try stack.write { $0.delete(try $0.existingObject(with: id)) }
              } catch ErrorCode.validationFailed {
                // Another writer deleted its member first.
              }
            }
          }
          try await group.waitForAll()
        }
        try stack.read { try expectEqual(try findSquad(name, of: $0).objects(for: "players").count, 1) }
      }
    }
  }
}

/// The checks that a store was asked for.
private final class NotedChecks: Sendable {
  let checks = Mutex<[MemberCountCheck]>([])
}
