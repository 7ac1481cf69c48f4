import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let readValues = ConformanceSubject("Values without objects") {
    plain
    filtered
    unsaved
    refused
  }

  private static func fill(_ context: ManagedObjectContext) throws {
    try Music.fill(context)
    for year in 0..<10 { try context.make("Album", ["title": "Year \(year)", "year": 2100 + year]) }
  }

  private static func request(where predicate: FetchPredicate? = nil) -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: "Album")
    request.predicate = predicate
    request.sortKeys = [SortKey("year", .reverse), SortKey("title")]
    return request
  }

  /// Fails unless the read values equal those of the fetched objects, of every attribute, in the same order.
  private static func expectValues(_ request: FetchRequest<ManagedObject>, in context: ManagedObjectContext) throws {
    let entity = try unwrap(request.entityName.map { try context.entity($0) }, "an entity")
    let sink = ValueCollector(entity.attributes.map(\.slot))
    try context.read(request, into: sink)
    let expected = try context.fetch(request).map { object in
      try entity.attributes.map { try object.value(for: $0.name) }
    }
    try expectEqual(sink.records, expected, "the values read")
  }

  @CasesBuilder private static var plain: [Case] {
    Case("values read without objects are those of the fetched objects, in their order") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        try expectValues(request(), in: context)
        try expectValues(FetchRequest(entityName: "Artist"), in: context)
        try expectValues(FetchRequest(entityName: "Performer"), in: context)
        var artists = FetchRequest<ManagedObject>(entityName: "Artist")
        artists.includesSubentities = false
        try expectValues(artists, in: context)
      }
    }
    Case("values returned by the store equal those that Core copies from its rows") { stack in
      try stack.write { try fill($0) }
      let album = try unwrap(stack.model.entities.first { $0.name == "Album" }, "the entity")
      func values() throws -> [[AttributeValue]] {
        let sink = ValueCollector(album.attributes.map(\.slot).reversed())
        try stack.read { try $0.read(request(), into: sink) }
        return sink.records
      }
      let direct = try values()
      // The cursors of an interposed store return rows only.
      _ = try stack.interpose()
      try expectEqual(direct, try values(), "the values read")
      try expect(direct.count > 10, "more than ten records")
    }
    Case("a read without slots counts the records") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        let sink = ValueCollector([])
        try context.read(request(), into: sink)
        try expectEqual(sink.count, try context.count(for: request()), "the number of records")
      }
    }
  }

  @CasesBuilder private static var filtered: [Case] {
    Case("values are read of the records in the range alone") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        for (limit, offset) in [(3, 0), (3, 4), (100, 8), (0, 0)] {
          var ranged = request(where: compare("year", .greaterOrEqual, 2100))
          ranged.fetchLimit = limit
          ranged.fetchOffset = offset
          try expectValues(ranged, in: context)
        }
      }
    }
    Case("values are read of the records that satisfy a pattern, within a limit") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        var odd = request(where: compare("title", .matches, "Year [13579]"))
        odd.fetchLimit = 2
        odd.fetchOffset = 1
        try expectValues(odd, in: context)
        let sink = ValueCollector([])
        try context.read(odd, into: sink)
        try expectEqual(sink.count, 2, "the number of records")
      }
    }
  }

  @CasesBuilder private static var unsaved: [Case] {
    Case("unsaved changes are among the values read") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        let recent = request(where: compare("year", .greaterOrEqual, 2100))
        try context.one("Album", where: equal("title", "Year 3")).setValue("Fresh title", for: "title")
        try context.one("Album", where: equal("title", "Year 4")).setValue(1900, for: "year")
        context.delete(try context.one("Album", where: equal("title", "Year 5")))
        try context.make("Album", ["title": "Unsaved", "year": 2105])
        try expectValues(recent, in: context)
        let title = try unwrap(try context.entity("Album").attribute(named: "title"), "the attribute").slot
        let sink = ValueCollector([title])
        try context.read(recent, into: sink)
        let titles = ["Year 9", "Year 8", "Year 7", "Year 6", "Unsaved", "Fresh title", "Year 2", "Year 1", "Year 0"]
        try expectEqual(sink.records, titles.map { [.string($0)] }, "the titles")
      }
    }
    Case("a request without pending changes reads the saved values") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        var saved = request(where: equal("year", 2103))
        saved.includesPendingChanges = false
        let slot = try unwrap(try context.entity("Album").attribute(named: "title"), "the attribute").slot
        try context.one("Album", where: equal("title", "Year 3")).setValue("Fresh title", for: "title")
        let sink = ValueCollector([slot])
        try context.read(saved, into: sink)
        try expectEqual(sink.records, [[.string("Year 3")]], "the titles")
      }
    }
  }

  @CasesBuilder private static var refused: [Case] {
    Case("an error of the sink ends the read, and the unit of work can read again") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        let slot = try unwrap(try context.entity("Album").attribute(named: "title"), "the attribute").slot
        let sink = ValueCollector([slot], capacity: 3)
        try expectThrows(.validationFailed) { try context.read(request(), into: sink) }
        try expectEqual(sink.count, 4, "the number of records that the sink received")
        try expectValues(request(), in: context)
      }
    }
    Case("slots that the entity does not have are refused") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        let count = try context.entity("Album").slotCount
        for slot in [count, -1] {
          try expectThrows(.invalidFetchRequest) { try context.read(request(), into: ValueCollector([0, slot])) }
        }
        try expectValues(request(), in: context)
      }
    }
  }
}

/// Collects values, up to a number of records.
private final class ValueCollector: ValueSink {
  let slots: [Int]
  private let capacity: Int
  private(set) var records: [[AttributeValue]] = []
  private(set) var count = 0

  init(_ slots: [Int], capacity: Int = .max) {
    self.slots = slots
    self.capacity = capacity
  }

  func take(_ values: UnsafeMutablePointer<AttributeValue>) throws {
    defer { values.deinitialize(count: slots.count) }
    count += 1
    guard count <= capacity else { throw CoherenceError(.validationFailed, "The collector has no room for more.") }
    records.append(Array(UnsafeBufferPointer(start: values, count: slots.count)))
  }
}

extension ManagedObjectContext {
  fileprivate func entity(_ name: String) throws -> EntityDescription {
    try unwrap(persistentStoreCoordinator, "a coordinator").managedObjectModel.entity(named: name)
  }
}
