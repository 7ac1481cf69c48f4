import CoherenceCore
import Foundation

/// Requests larger or deeper than an engine's limits still find the right records.
extension ConformanceSubject {
  static let largeRequests = ConformanceSubject("Large requests") {
    lists
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
