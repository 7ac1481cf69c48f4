import CoherenceCore
import Foundation

extension ConformanceSubject {
  /// One-to-one relationships that two writers change: both sides must agree afterwards.
  static let partnerConflicts = ConformanceSubject("Conflicts over partners") {
    moves
    discardedChanges
    discardedPartners
    otherForms
    partnersInTwoRelationships
  }

  /// The policies under which the store's change of a relationship wins, and those under which the saver's wins.
  private static let storeWins: [MergePolicy] = [.storeTrumps, .rollback]
  private static let saverWins: [MergePolicy] = [.objectTrumps, .overwrite]

  /// Two writers start from the tags "a" and "b" and the badges "1" and "2"; the first has saved when the second, with
  /// the policy, does.
  ///
  /// - Parameters:
  ///   - pairs: The badges of tags, by the tags.
  ///   - isShown: Whether the second context must show the same partners as the store: its loaded objects before the
  ///     next fetch, and all objects after it.
  /// - Returns: The partner of each record after both saves.
  private static func race(
    _ stack: ConformanceStack, _ policy: MergePolicy, from pairs: [String: String] = [:], isShown: Bool = false,
    first: (Records) throws -> Void, second: (Records) throws -> Void
  ) throws -> [String] {
    try stack.write { context in
      for entity in ["Tag", "Badge"] { for object in try context.all(entity) { context.delete(object) } }
    }
    try stack.write { context in
      for name in ["a", "b"] { try context.make("Tag", ["name": name]) }
      for name in ["1", "2"] { try context.make("Badge", ["name": name]) }
      let records = try Records(context)
      for (tag, badge) in pairs { try records[tag].setObject(records[badge], for: "badge") }
    }
    let late = stack.context(policy)
    let shown = try late.performAndWait {
      let records = try Records(late)
      try stack.write { try first(try Records($0)) }
      try second(records)
      try late.save()
      try expect(!late.hasChanges, "nothing left to save")
      return (loaded: try isShown ? records.partners : [], fetched: try partners(late))
    }
    let stored = try stack.read { try partners($0) }
    if isShown {
      try expectEqual(shown.loaded, stored)
      try expectEqual(shown.fetched, stored)
    }
    return stored
  }

  /// The loaded tags and badges of a context, by their names.
  private struct Records {
    let context: ManagedObjectContext
    private var objects: [String: ManagedObject] = [:]

    init(_ context: ManagedObjectContext) throws {
      self.context = context
      for object in try context.all("Tag") + context.all("Badge") {
        try object.load()
        let name = try object.ownName
        objects[name] = object
      }
    }

    subscript(name: String) -> ManagedObject {
      get throws { try unwrap(objects[name], "a record named '\(name)'") }
    }

    /// The partner of each record, by the names that the objects show. Fetches nothing.
    var partners: [String] {
      get throws {
        try [("Tag", "badge"), ("Badge", "tag")].flatMap { entity, partner in
          try objects.values.filter { $0.entity.name == entity }
            .map { "\(try $0.ownName): \(try $0.object(for: partner)?.ownName ?? "")" }.sorted()
        }
      }
    }
  }

  /// The partner of each tag and of each badge, by name.
  private static func partners(_ context: ManagedObjectContext) throws -> [String] {
    let tags = try context.all("Tag", sort: [SortKey("name")])
    let badges = try context.all("Badge", sort: [SortKey("name")])
    return try tags.map { "\(try $0.ownName): \(try $0.object(for: "badge")?.ownName ?? "")" }
      + badges.map { "\(try $0.ownName): \(try $0.object(for: "tag")?.ownName ?? "")" }
  }

  @CasesBuilder private static var moves: [Case] {
    Case("of two partners that two writers give a record, the decided one alone leads to it", model: Labels.model) {
      stack in
      for (policies, expected) in [
        (storeWins, ["a: 1", "b: ", "1: a", "2: "]), (saverWins, ["a: ", "b: 1", "1: b", "2: "]),
      ] {
        for policy in policies {
          let found = try race(
            stack, policy, isShown: true, first: { try $0["a"].setObject($0["1"], for: "badge") },
            second: { try $0["b"].setObject($0["1"], for: "badge") })
          try expectEqual(found, expected)
        }
      }
    }
    Case("a partner moved away by one writer and taken over by another has one record", model: Labels.model) { stack in
      for (policies, expected) in [
        (storeWins, ["a: 2", "b: ", "1: ", "2: a"]), (saverWins, ["a: ", "b: 1", "1: b", "2: "]),
      ] {
        for policy in policies {
          let found = try race(
            stack, policy, from: ["a": "1"], isShown: true,
            first: { try $0["a"].setObject($0["2"], for: "badge") },
            second: { try $0["b"].setObject($0["1"], for: "badge") })
          try expectEqual(found, expected)
        }
      }
    }
    Case("a record overwritten by its former state leaves its new partner", model: Labels.model) { stack in
      let found = try race(
        stack, .overwrite, isShown: true, first: { try $0["a"].setObject($0["1"], for: "badge") },
        second: { try $0["a"].setValue("red", for: "colour") })
      try expectEqual(found, ["a: ", "b: ", "1: ", "2: "])
    }
    Case("a record overwritten by its former state has its former partner again", model: Labels.model) { stack in
      let found = try race(
        stack, .overwrite, from: ["a": "1"], isShown: true, first: { try $0["a"].setObject($0["2"], for: "badge") },
        second: { try $0["a"].setValue("red", for: "colour") })
      try expectEqual(found, ["a: 1", "b: ", "1: a", "2: "])
    }
    Case("an edit of a record's lost partner leaves the record the partner that the saver chose", model: Labels.model) {
      stack in
      for policy in saverWins {
        let tagChooses = try race(
          stack, policy, isShown: true, first: { try $0["a"].setObject($0["1"], for: "badge") },
          second: {
            try $0["a"].setObject($0["2"], for: "badge")
            try $0["1"].setValue("1!", for: "name")
          })
        try expectEqual(tagChooses, ["a: 2", "b: ", "1!: ", "2: a"])
        let badgeChooses = try race(
          stack, policy, first: { try $0["1"].setObject($0["a"], for: "tag") },
          second: {
            try $0["1"].setObject($0["b"], for: "tag")
            try $0["a"].setValue("a!", for: "name")
          })
        try expectEqual(badgeChooses, ["a!: ", "b: 1", "1: b", "2: "])
      }
    }
  }

  @CasesBuilder private static var discardedChanges: [Case] {
    Case("a record whose change is discarded keeps its partner, which the saver led elsewhere", model: Labels.model) {
      stack in
      let expected = ["a: 1!", "b: ", "1!: a", "2: "]
      let found = try race(
        stack, .rollback, from: ["a": "1"], isShown: true, first: { try $0["1"].setValue("1!", for: "name") },
        second: { try $0["a"].setObject($0["2"], for: "badge") })
      try expectEqual(found, expected)
    }
    Case("a record whose delete is given up keeps its partner", model: Labels.model) { stack in
      let policies: [MergePolicy] = [.storeTrumps, .rollback, .custom { $0.store?.values }]
      for policy in policies {
        let found = try race(
          stack, policy, from: ["a": "1"], first: { try $0["1"].setValue("1!", for: "name") },
          second: { $0.context.delete(try $0["1"]) })
        try expectEqual(found, ["a: 1!", "b: ", "1!: a", "2: "])
      }
    }
    Case("a record that a save restores has its former partner", model: Labels.model) { stack in
      for policy in saverWins {
        let found = try race(
          stack, policy, from: ["a": "1"], isShown: true, first: { $0.context.delete(try $0["1"]) },
          second: { try $0["1"].setValue("1!", for: "name") })
        try expectEqual(found, ["a: 1!", "b: ", "1!: a", "2: "])
      }
    }
    Case("a record that a save restores has no partner if the former one has another", model: Labels.model) { stack in
      for policy in saverWins {
        let found = try race(
          stack, policy, from: ["a": "1"], isShown: true,
          first: {
            $0.context.delete(try $0["1"])
            try $0["a"].setObject($0["2"], for: "badge")
          }, second: { try $0["1"].setValue("1!", for: "name") })
        try expectEqual(found, ["a: 2", "b: ", "1!: ", "2: a"])
      }
    }
  }

  /// Changes of the tag "a" that a policy discards, although the badge "1" leaves the tag by the same policy.
  @CasesBuilder private static var discardedPartners: [Case] {
    Case("a record with discarded changes that loses its partner gets no links", model: Labels.model) { stack in
      try stack.write { try $0.make("Note", ["name": "n"]) }
      let policy = MergePolicy.custom { $0.mine?.entity.name == "Badge" ? $0.mine?.values : nil }
      let found = try race(
        stack, policy, first: { try $0["1"].setObject($0["a"], for: "tag") },
        second: {
          try $0["1"].setObject($0["b"], for: "tag")
          try $0["a"].setValue("red", for: "colour")
          try $0["a"].setObjects([try $0.context.one("Note")], for: "notes")
        })
      try expectEqual(found, ["a: ", "b: 1", "1: b", "2: "])
      try stack.read { context in
        try expectEqual(try context.one("Tag", where: equal("name", "a")).value(for: "colour"), .null)
        try expectEqual(try context.one("Note").labels(of: "tags"), [])
      }
    }
    Case("a record with discarded changes that is deleted before the save leaves the context", model: Labels.model) {
      stack in
      let policy = MergePolicy.custom { conflict in
        guard conflict.mine?.entity.name == "Tag" else { return conflict.mine?.values }
        if conflict.store != nil {
          try stack.write { $0.delete(try $0.existingObject(with: conflict.objectID)) }
        }
        return nil
      }
      let found = try race(
        stack, policy, first: { try $0["1"].setObject($0["a"], for: "tag") },
        second: {
          try $0["1"].setObject($0["b"], for: "tag")
          try $0["a"].setValue("red", for: "colour")
        })
      try expectEqual(found, ["b: 1", "1: b", "2: "])
    }
    Case("a record with discarded changes that loses its partner to an insert is up to date", model: Labels.model) {
      stack in
      try stack.write { context in for name in ["1", "2"] { try context.make("Badge", ["name": name]) } }
      // The tag of another writer gets the badge of the conflict, and the name of the inserted tag.
      let policy = MergePolicy.custom { conflict in
        guard conflict.store?.entity.name == "Badge" else { return conflict.mine?.values }
        try stack.write { context in
          let badge = try context.existingObject(with: conflict.objectID)
          try context.make("Tag", ["name": "t"]).setObject(badge, for: "badge")
        }
        return nil
      }
      let late = stack.context(policy)
      try late.performAndWait {
        let records = try Records(late)
        let badge = try records["1"]
        try stack.write { try $0.one("Badge", where: equal("name", "1")).setValue("1!", for: "name") }
        try badge.setValue("one", for: "name")
        try late.make("Tag", ["name": "t"]).setObject(try records["2"], for: "badge")
        try late.save()
        try expectEqual(try partners(late), ["t: 2", "1!: ", "2: t"])
        late.mergePolicy = .error
        try badge.setValue("1!!", for: "name")
        try late.save()
      }
      let stored = try stack.read { try partners($0) }
      try expectEqual(stored, ["t: 2", "1!!: ", "2: t"])
    }
  }

  /// A model with a required side of a one-to-one relationship.
  private static let keyModel = soundModel {
    Entity("Lock") {
      Attribute("name", .string)
      Relationship("key", toOne: "Key", inverse: "lock")
    }
    Entity("Key") {
      Attribute("name", .string)
      Relationship("lock", toOne: "Lock", inverse: "key", optional: false)
    }
  }

  /// A model whose tags have the time of their last save.
  private static let timedModel = soundModel {
    Entity("Tag") {
      Attribute("name", .string)
      Attribute("savedAt", .date, derived: .now)
      Relationship("badge", toOne: "Badge", inverse: "tag")
    }
    Entity("Badge") {
      Attribute("name", .string)
      Relationship("tag", toOne: "Tag", inverse: "badge")
    }
  }

  @CasesBuilder private static var otherForms: [Case] {
    Case("a record that loses its partner in a conflict has the time of the save", model: timedModel) { stack in
      let found = try race(
        stack, .objectTrumps,
        first: {
          stack.coordinator.clock = { Date(timeIntervalSince1970: 1_000) }
          try $0["a"].setObject($0["1"], for: "badge")
        },
        second: {
          stack.coordinator.clock = { Date(timeIntervalSince1970: 2_000) }
          try $0["b"].setObject($0["1"], for: "badge")
        })
      try expectEqual(found, ["a: ", "b: 1", "1: b", "2: "])
      try stack.read { context in
        let tag = try context.one("Tag", where: equal("name", "a"))
        try expectEqual(try tag.value(for: "savedAt", as: Date.self), Date(timeIntervalSince1970: 2_000))
      }
    }
    Case("a save that would take a required partner away reports the conflict", model: keyModel) { stack in
      try stack.write { try $0.make("Lock", ["name": "l"]) }
      let late = stack.context(.storeTrumps)
      try late.performAndWait {
        let lock = try late.one("Lock")
        try lock.load()
        try stack.write { context in
          try context.make("Key", ["name": "first"]).setObject(try context.one("Lock"), for: "lock")
        }
        try late.make("Key", ["name": "second"]).setObject(lock, for: "lock")
        let error = try expectThrows(.versionConflict) { try late.save() }
        try expectEqual(error.conflicts.map(\.objectID), [lock.objectID])
      }
      try stack.read { context in
        try expectEqual(try context.names("Key"), ["first"])
        try expectEqual(try context.one("Lock").object(for: "key")?.ownName, "first")
      }
    }
    Case("two writers who give one person different spouses leave one couple", model: Acquaintances.model) { stack in
      for (policy, expected) in [
        (MergePolicy.storeTrumps, ["a: b", "b: a", "c: "]), (.objectTrumps, ["a: c", "b: ", "c: a"]),
      ] {
        try stack.write { context in
          for person in try context.all("Person") { context.delete(person) }
          _ = try Acquaintances.people(context, "a", "b", "c")
        }
        let late = stack.context(policy)
        try late.performAndWait {
          let people = try late.all("Person", sort: [SortKey("name")])
          for person in people { try person.load() }
          try stack.write { context in
            let people = try context.all("Person", sort: [SortKey("name")])
            try people[0].setObject(people[1], for: "spouse")
          }
          try people[0].setObject(people[2], for: "spouse")
          try late.save()
        }
        try stack.read { try expectEqual(try Acquaintances.spouses($0), expected) }
      }
    }
    Case("the list of a partner from which a refresh takes a record is read again") { stack in
      try stack.write { context in
        let albums = try ["X", "Y"].map { try context.make("Album", ["title": $0]) }
        try albums[0].setObjects(try ["a", "b"].map { try context.make("Track", ["title": $0]) }, for: "tracks")
        try context.make("Cover")
      }
      try stack.read { context in
        let cover = try context.one("Cover")
        let partner = try context.one("Album", where: equal("title", "X"))
        try expectEqual(try partner.labels(of: "tracks"), ["a", "b"])
        try stack.write { other in
          let album = try other.one("Album", where: equal("title", "X"))
          try album.setObject(try other.one("Cover"), for: "cover")
          try album.setObjects(try album.objects(for: "tracks").reversed(), for: "tracks")
        }
        try cover.setObject(try context.one("Album", where: equal("title", "Y")), for: "album")
        context.refresh(cover, mergeChanges: true)
        try expectEqual(try partner.labels(of: "tracks"), ["b", "a"])
      }
    }
    Case("an edit that a refresh keeps takes the record from its other partner", model: Labels.model) { stack in
      let refreshes: [@Sendable (ManagedObjectContext, ManagedObject) -> Void] = [
        { $0.refresh($1, mergeChanges: true) }, { context, _ in context.refreshAll() },
      ]
      for refresh in refreshes {
        let found = try race(
          stack, .error, first: { try $0["a"].setObject($0["1"], for: "badge") },
          second: { records in
            let badge = try records["1"]
            try records["b"].setObject(badge, for: "badge")
            refresh(records.context, badge)
          })
        try expectEqual(found, ["a: ", "b: 1", "1: b", "2: "])
      }
    }
  }
}

extension ManagedObject {
  /// The record's own name; the label of a tag is a derived title.
  fileprivate var ownName: String {
    get throws { try value(for: "name", as: String?.self) ?? "" }
  }
}
