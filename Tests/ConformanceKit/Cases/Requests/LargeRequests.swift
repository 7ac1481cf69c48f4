import CoherenceCore
import Foundation

/// Requests larger or deeper than an engine's limits still find the right records.
extension ConformanceSubject {
  static let largeRequests = ConformanceSubject("Large requests") {
    lists
    longLists
    nesting
    paths
    patterns
  }

  /// A condition that holds for the album of 1959 by its last part alone.
  private static func terms(_ count: Int, _ term: (Int) -> FetchPredicate) -> FetchPredicate {
    .or((1..<count).map(term) + [equal("year", 1959)])
  }

  private static func findsKindOfBlue(
    _ sentence: String, _ predicate: @escaping @Sendable () -> FetchPredicate
  ) -> Case {
    Case(sentence) { stack in
      let predicate = predicate()
      let context = stack.context()
      try context.performAndWait {
        try Music.fill(context)
        try expectEqual(
          try context.names("Album", where: predicate), ["Kind of Blue"], "what is found before the save")
        try context.save()
      }
      try stack.read { context in
        try expectEqual(try context.names("Album", where: predicate), ["Kind of Blue"], "what is found in the store")
        try expectEqual(try context.number(of: "Album", where: predicate), 1, "the count in the store")
        let sorted = try context.names("Album", where: predicate, sort: [SortKey("title")])
        try expectEqual(sorted, ["Kind of Blue"], "what is found in order")
      }
    }
  }

  @CasesBuilder private static var lists: [Case] {
    [999, 1_000, 10_000, 70_000].map { count in
      findsKindOfBlue("\(count) comparisons of one property that OR joins") {
        terms(count) { equal("year", 10_000 + $0) }
      }
    }
    [999, 10_000, 40_000].map { count in
      findsKindOfBlue("\(count) different comparisons that OR joins") {
        terms(count) { index in
          index.isMultiple(of: 2)
            ? compare("title", .beginsWith, "no \(index)") : between("year", 10_000 + index, 20_000)
        }
      }
    }
    findsKindOfBlue("3,000 comparisons that AND joins") {
      .and((0..<3_000).map { compare("title", .notEqual, "no \($0)") } + [equal("year", 1959)])
    }
    findsKindOfBlue("4,000 filters that are added one by one") {
      (0..<4_000).reduce(equal("year", 1959)) { predicate, index in
        .and([predicate, compare("title", .notEqual, "no \(index)")])
      }
    }
  }

  /// The titles of the albums besides "Kind of Blue".
  private static let others = [
    "100% Pure_", "Arrival", "Bitches Brew", "Debut", "Live in Berlin", "Tago Mago", "Untitled",
  ]

  /// The number of values in a long list.
  private static let manyValues = 100_000

  private static func texts(and titles: [String]) -> FetchPredicate {
    let unknown = (titles.count..<manyValues).map { "no \($0)" }
    return among("title", unknown + titles)
  }

  private static func years(and year: Int) -> FetchPredicate {
    let unknown: [Int] = Array(10_000..<(10_000 + manyValues - 1))
    return among("year", unknown + [year])
  }

  /// A condition that a reference is one of many, of which the store has some.
  private static func references(_ path: String, to ids: [ManagedObjectID]) throws -> FetchPredicate {
    let space = try unwrap(ids.first, "an identifier").space
    let unknown = (ids.count..<manyValues).map { ManagedObjectID(space: space, key: 1_000_000 + Int64($0)) }
    return .membership(.path(PropertyPath(path)), in: (unknown + ids).map(AttributeValue.reference))
  }

  @CasesBuilder private static var longLists: [Case] {
    findsKindOfBlue("100,000 texts in a list") { texts(and: ["Kind of Blue"]) }
    findsKindOfBlue("100,000 texts in the list of a negation") { .not(texts(and: others)) }
    findsKindOfBlue("100,000 numbers in a list") { years(and: 1959) }
    Case("100,000 identifiers in a list, and in the list of a negation, find the right records") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let albums = try context.all("Album", where: among("title", others)).map(\.objectID)
        let miles = try context.one("Artist", where: equal("name", "Miles")).objectID
        let own = try references("self", to: albums)
        let artist = try references("artist", to: [miles])
        let ofMiles = ["Bitches Brew", "Kind of Blue"]
        let all = (others + ["Kind of Blue"]).sorted()
        try expectEqual(try context.names("Album", where: own), others, "the records of the list")
        try expectEqual(try context.names("Album", where: .not(own)), ["Kind of Blue"], "the records outside")
        try expectEqual(try context.number(of: "Album", where: .not(own)), 1, "the number outside")
        try expectEqual(try context.names("Album", where: artist), ofMiles, "the records by their references")
        try expectEqual(
          try context.names("Album", where: .not(artist)), all.filter { !ofMiles.contains($0) },
          "the records with other references and without one")
      }
    }
  }

  @CasesBuilder private static var nesting: [Case] {
    [35, 100].map { depth in
      findsKindOfBlue("AND and OR that are nested \(depth) deep") {
        (0..<depth).reduce(equal("year", 1959)) { predicate, level in
          level.isMultiple(of: 2)
            ? .or([equal("year", 10_000 + level), predicate])
            : .and([compare("title", .notEqual, "no \(level)"), predicate])
        }
      }
    }
    findsKindOfBlue("sixty negations") { (0..<60).reduce(equal("year", 1959)) { predicate, _ in .not(predicate) } }
    findsKindOfBlue("20,000 negations") { (0..<20_000).reduce(equal("year", 1959)) { predicate, _ in .not(predicate) } }
    findsKindOfBlue("AND in AND, 20,000 levels deep") {
      (0..<20_000).reduce(equal("year", 1959)) { predicate, _ in .and([predicate, .constant(true)]) }
    }
    findsKindOfBlue("OR in OR, 20,000 levels deep") {
      (0..<20_000).reduce(equal("year", 1959)) { predicate, _ in .or([.constant(false), predicate]) }
    }
    findsKindOfBlue("negations between twenty conjunctions") {
      (0..<20).reduce(equal("year", 1959)) { predicate, level in
        .not(.and([compare("title", .notEqual, "no \(level)"), .not(predicate)]))
      }
    }
    findsKindOfBlue("conditions on members that are nested three deep") {
      (0..<3).reduce(equal("year", 1959)) { predicate, _ in
        .quantified(.any, PropertyPath("artist.albums"), .and([predicate, compare("title", .notEqual, "no")]))
      } && equal("year", 1959)
    }
    Case("a condition nested too deep throws an error") { stack in
      try stack.read { context in
        let predicate = (0..<20_000).reduce(equal("year", 1959)) { predicate, level in
          level.isMultiple(of: 2) ? .or([equal("year", 0), predicate]) : .and([equal("year", 1), predicate])
        }
        let error = try expectThrows(.invalidPredicate) { try context.all("Album", where: predicate) }
        try expect(error.message.contains("nested"), "the message to name the fault")
      }
    }
  }

  @CasesBuilder private static var paths: [Case] {
    Case("a path to prefetch with too many relationships throws") { stack in
      try stack.read { context in
        var request = FetchRequest<ManagedObject>(entityName: "Album")
        request.relationshipsForPrefetching = [Array(repeating: "artist.albums", count: 10_000).joined(separator: ".")]
        let error = try expectThrows(.invalidFetchRequest) { try context.fetch(request) }
        try expect(error.message.contains("more than 100"), "the message to name the fault")
      }
    }
  }

  @CasesBuilder private static var patterns: [Case] {
    findsKindOfBlue("a pattern for which a search by trial and error takes for ever") {
      .and([.not(compare("title", .matches, "([A-Za-z ]+)+!")), equal("year", 1959)])
    }
    Case("a pattern beyond its matching limit throws an error and never leaves a record out") { stack in
      try stack.write { try $0.make("Genre", ["name": String(repeating: "a", count: 60) + "?"]) }
      try stack.read { context in
        try expectThrows(.limitExceeded) {
          try context.all("Genre", where: compare("name", .matches, "(?=.)(a+)+$"))
        }
        try expectEqual(try context.number(of: "Genre"), 1, "the number of genres")
      }
    }
    Case("a value of an attribute with a pattern is refused only if it does not match", model: Pins.model) { stack in
      try stack.write { try $0.make("Pin", ["code": String(repeating: "a", count: 40) + "!"]) }
      try stack.read { context in
        try context.make("Pin", ["code": String(repeating: "a", count: 40) + "?"])
        let error = try expectThrows(.validationFailed) { try context.save() }
        try expectEqual(error.failures.map(\.propertyName), ["code"])
      }
    }
  }

  /// The number of records that the cascade deletes.
  private static let many = 20_000

  /// A house with many rooms.
  @discardableResult
  private static func fan(_ context: ManagedObjectContext) throws -> ManagedObject {
    let house = try context.make("House", ["name": "house"])
    for index in 0..<many { try context.make("Room", ["name": "\(index)"]).setObject(house, for: "house") }
    return house
  }
}

extension ManagedObjectContext {
  /// Processes pending changes, and fails unless a single notification contains exactly these objects.
  fileprivate func processDeletesAndExpect(inserted: Set<ManagedObject>) throws {
    let received = ObservedInserts()
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextObjectsDidChange, object: self, queue: nil
    ) { notification in
      let changed = notification.userInfo?[ManagedObjectContext.NotificationKey.objects] as? ChangedObjects
      received.sets.append(changed?.inserted ?? [])
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    try processPendingChanges()
    try expectEqual(received.sets, [inserted], "the objects of the notification")
  }
}

/// Sendable: used on the thread that posts, which is the one that waits.
private final class ObservedInserts: @unchecked Sendable {
  var sets: [Set<ManagedObject>] = []
}

/// A model with an attribute that a pattern rules.
enum Pins {
  static let model = soundModel {
    Entity("Pin") { Attribute("code", .string, validation: [.pattern("(a+)+$|a+!")]) }
  }
}
