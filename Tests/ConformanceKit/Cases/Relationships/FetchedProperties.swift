import CoherenceCore

extension ConformanceSubject {
  /// Results of requests that depend on an object.
  static let fetchedProperties = ConformanceSubject("Fetched properties") {
    fetching
    keeping
    refusing
  }

  private static let model = soundModel {
    Entity("Band", class: Band.self) {
      Attribute("name", .string)
      Attribute("year", .int32, default: 0)
      Relationship("home", toOne: "Town", inverse: "bands")
      Relationship("tags", toMany: "Town", inverse: nil)
      FetchedProperty(
        "older", of: "Band", where: "year < $FETCH_SOURCE.year AND name != '$FETCH_SOURCE'", sortedBy: [SortKey("year")]
      )
      FetchedProperty("neighbours", of: "Band", where: "home.name == $FETCH_SOURCE.home.name AND SELF != $FETCH_SOURCE")
      FetchedProperty("fellows", of: "Band", where: "SELF IN $FETCH_SOURCE.home.bands AND SELF != $FETCH_SOURCE")
      FetchedProperty("visited", of: "Town", where: "SELF IN $FETCH_SOURCE.tags", limit: 2)
      FetchedProperty("towns", of: "Town")
      FetchedProperty(
        "townsOfOlder", of: "Town", where: "SUBQUERY(bands, $band, $band.year < $FETCH_SOURCE.year).@count > 0")
    }
    Entity("Trio", class: Band.self, parent: "Band") {}
    Entity("Town") {
      Attribute("name", .string)
      Relationship("bands", toMany: "Band", inverse: "home")
    }
  }

  private final class Band: ManagedObject {
    static let olderKey = FetchedKey<Band, Band>("older")
    static let wrongKey = FetchedKey<Band, Band>("towns")
    static let youngerKey = FetchedKey<Band, Band> { band in
      FetchRequest<Band>(entityName: "Band").filter(
        compare("year", .greater, try band.value(for: "year", as: Int.self))
      )
      .sort("year")
    }
  }

  private static func band(_ context: ManagedObjectContext, _ name: String) throws -> Band {
    try unwrap(try context.one("Band", where: equal("name", name)) as? Band, "a band")
  }

  private static func fill(_ stack: ConformanceStack) throws {
    try stack.write { context in
      let towns = try ["Praia", "Mindelo", "Sal"].map { try context.make("Town", ["name": $0]) }
      for (number, name) in ["A", "B", "C", "D"].enumerated() {
        let band = try context.make(number == 3 ? "Trio" : "Band", ["name": name, "year": 1990 + number])
        try band.setObject(towns[number % 2], for: "home")
        try band.setObjects(towns, for: "tags")
      }
    }
  }

  @CasesBuilder private static var fetching: [Case] {
    Case("a fetched property finds records by the values of its object", model: model) { stack in
      try fill(stack)
      try stack.read { context in
        let band = try band(context, "C")
        try expectEqual(try band[Band.olderKey].map { try $0.label }, ["A", "B"])
        try expectEqual(try band.fetchedObjects(for: "neighbours").map { try $0.label }, ["A"])
        try expectEqual(try band.fetchedObjects(for: "visited").count, 2)
        try expectEqual(try band.fetchedObjects(for: "towns").count, 3)
        try expectEqual(try band[Band.youngerKey].map { try $0.label }, ["D"])
        let trio = try self.band(context, "D")
        try expectEqual(try trio[Band.olderKey].map { try $0.label }, ["A", "B", "C"])
        try expect(context.reportedErrors.isEmpty, "nothing to report")
      }
    }
    Case("the condition of a fetched property may have a condition on members with a variable of its own", model: model)
    { stack in
      try fill(stack)
      try stack.read { context in
        let towns = try band(context, "B").fetchedObjects(for: "townsOfOlder")
        try expectEqual(try towns.map { try $0.label }, ["Praia"])
        try expectEqual(try band(context, "D").fetchedObjects(for: "townsOfOlder").count, 2)
        try expectEqual(try band(context, "A").fetchedObjects(for: "townsOfOlder").count, 0)
      }
    }
    Case("a list over a missing target of the object is empty in a fetched property", model: model) { stack in
      try fill(stack)
      try stack.read { context in
        let band = try band(context, "C")
        try expectEqual(try band.fetchedObjects(for: "fellows").map { try $0.label }, ["A"])
        try band.setObject(nil, for: "home")
        band.refreshFetchedProperties()
        try expectEqual(try band.fetchedObjects(for: "fellows"), [])
      }
    }
    Case("a fetched property counts unsaved changes and works for an unsaved object", model: model) { stack in
      try fill(stack)
      try stack.read { context in
        let fresh = try unwrap(try context.make("Band", ["name": "new", "year": 1992]) as? Band)
        try band(context, "A").setValue(1999, for: "year")
        try expectEqual(try fresh[Band.olderKey].map { try $0.label }, ["B"])
        try expectEqual(try fresh.fetchedObjects(for: "neighbours"), [])
        try expectEqual(try fresh[Band.youngerKey].map { try $0.label }, ["D", "A"])
      }
    }
  }

  @CasesBuilder private static var keeping: [Case] {
    Case("a fetched property is read once, and again after a refresh", model: model) { stack in
      let interposition = try stack.interpose()
      try fill(stack)
      try stack.read { context in
        let band = try band(context, "C")
        let first = band[Band.olderKey]
        let before = interposition.fetchCount
        try context.make("Band", ["name": "E", "year": 1980])
        try expectEqual(band[Band.olderKey], first)
        try expectEqual(interposition.fetchCount, before, "no read")
        band.refreshFetchedProperties()
        try expectEqual(try band[Band.olderKey].map { try $0.label }, ["E", "A", "B"])
        try context.make("Band", ["name": "F", "year": 1970])
        context.refresh(band, mergeChanges: false)
        try expectEqual(try band[Band.olderKey].map { try $0.label }, ["F", "E", "A", "B"])
      }
    }
    Case("a kept result leaves out deleted objects and follows saved ones", model: model) { stack in
      try fill(stack)
      try stack.read { context in
        let band = try band(context, "C")
        try context.make("Band", ["name": "new", "year": 1991])
        try expectEqual(try band[Band.olderKey].map { try $0.label }, ["A", "B", "new"])
        context.delete(try self.band(context, "A"))
        try expectEqual(try band[Band.olderKey].map { try $0.label }, ["B", "new"])
        try context.save()
        try expectEqual(try band[Band.olderKey].map { try $0.label }, ["B", "new"])
        context.rollback()
        try expectEqual(try band[Band.olderKey].map { try $0.label }, ["B", "new"])
      }
    }
    Case("a kept result stays as it is when a child saves members of the object", model: model) { stack in
      try fill(stack)
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        let band = try band(parent, "C")
        try expectEqual(try band[Band.olderKey].map { try $0.label }, ["A", "B"])
        try parent.make("Band", ["name": "E", "year": 1980])
        try child.performAndWait {
          try self.band(child, "C").setObjects([], for: "tags")
          try child.save()
        }
        try expectEqual(try band[Band.olderKey].map { try $0.label }, ["A", "B"])
        try expectEqual(try band.objects(for: "tags").count, 0)
      }
    }
  }

  @CasesBuilder private static var refusing: [Case] {
    Case("an accessor of a fetched property reports a failure and gives no objects", model: model) { stack in
      try fill(stack)
      try stack.read { context in
        let band = try band(context, "C")
        try expectEqual(band[Band.wrongKey], [])
        try expectEqual((context.reportedErrors.first as? CoherenceError)?.code, .wrongType)
        try expectThrows(.unknownProperty) { try band.fetchedObjects(for: "nothing") }
        let town = try context.one("Town", where: equal("name", "Sal"))
        try expectThrows(.wrongType) { try town.fetchedObjects(for: Band.youngerKey) }
        try expect(!band.isUnavailable, "the object to be available")
      }
    }
    Case("a model refuses a fetched property whose condition or entity cannot be") { _ in
      let faulty = [
        FetchedProperty("p", of: "B"), FetchedProperty("p", of: "A", where: "name =="),
        FetchedProperty("p", of: "A", where: "name == $FETCH_SOURCE.title"),
        FetchedProperty("p", of: "A", where: "name == $OTHER"), FetchedProperty("name", of: "A"),
        FetchedProperty("p", of: "A", where: "SUBQUERY(others, $a, $a.name == $OTHER).@count > 0"),
      ]
      for property in faulty {
        try expectThrows(.invalidModel) {
          try ManagedObjectModel {
            Entity("A") {
              Attribute("name", .string)
              property
            }
          }
        }
      }
    }
  }
}
