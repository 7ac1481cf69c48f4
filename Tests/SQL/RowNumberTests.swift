import CoherenceCore
import Foundation
import TestSupport
import Testing

/// Saves and reads of as many rows as a store processes in another way: just below, at and just above each number. The
/// store in memory, without such numbers, has the same results.
@Suite struct RowNumberTests {
  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Sample") {
        Attribute("number", .int64)
        Attribute("text", .string, optional: true)
        Attribute("rate", .double, optional: true)
        Attribute("isOpen", .bool, optional: true)
        Attribute("price", .decimal, optional: true)
        Attribute("moment", .date, optional: true)
        Attribute("bytes", .data, optional: true)
        Attribute("code", .uuid, optional: true)
      }
      Entity("Track", uniqueness: [["isrc"]]) {
        Attribute("isrc", .string)
        Attribute("title", .string)
      }
      Entity("Team") { Relationship("players", toMany: "Player", inverse: "team", maximumCount: 1) }
      Entity("Player") { Relationship("team", toOne: "Team", inverse: "players") }
    }
  }

  /// Runs a block with a new store.
  private func opened(_ backend: Backend, _ body: (LoggedStore) throws -> Void) throws {
    let stack = try LoggedStore(backend, Self.model())
    defer { stack.close() }
    try body(stack)
  }

  /// The lengths of texts, up to the memory that a statement of SQLite has for the texts of a run.
  private static let lengths = [0, 1, 511, 512, 513, 5_000, 16_383, 16_384, 16_385]

  /// The values of a sample. Different numbers have different values, and every seventh sample has the number alone.
  private static func values(_ number: Int) -> [String: AttributeValue] {
    var values: [String: AttributeValue] = ["number": .int(Int64(number))]
    for name in ["text", "rate", "isOpen", "price", "moment", "bytes", "code"] { values[name] = AttributeValue.null }
    if number.isMultiple(of: 7) { return values }
    let digits = "\(number)"
    let zeros = String(repeating: "0", count: 12 - digits.count)
    values["text"] = .string(String(repeating: "x", count: lengths[number % lengths.count]))
    values["rate"] = .double(Double(number) / 3)
    values["isOpen"] = .bool(number.isMultiple(of: 2))
    values["price"] = .decimal(Decimal(number) / 4)
    values["moment"] = .date(Timestamp(microseconds: Int64(number) * 86_400_000_001))
    values["bytes"] = .data(Data(repeating: UInt8(truncatingIfNeeded: number), count: number % 300))
    values["code"] = UUID(uuidString: "00000000-0000-0000-0000-\(zeros)\(digits)").map { AttributeValue.uuid($0) }
    return values
  }

  /// Expects that a store has the samples, and no other.
  private func expect(_ rows: [Row], in store: any PersistentStore) throws {
    let found = try store.fetch("Sample").sorted { $0.key < $1.key }
    #expect(found.map(\.id) == rows.map(\.id))
    #expect(found.map(\.version) == rows.map(\.version))
    // Without the values, which are long, in the message.
    let isSame = found.map(\.values) == rows.map(\.values)
    #expect(isSame)
  }

  @Test(arguments: Backend.available, [31, 32, 33, 65, 499, 500, 501])
  func `saves insert, change and delete any number of rows, each by its own values`(
    backend: Backend, count: Int
  ) throws {
    try opened(backend) { stack in
      let store = stack.store
      let entity = store.entity("Sample")
      let slots = SlotSet(entity.slots.indices)
      // The second round finds the connection as the first has left it.
      for first in [0, 3] {
        let rows = try (first..<(first + count)).map { try store.row("Sample", Self.values($0)) }
        let last = try #require(rows.last)
        try store.save(.insert(entity, rows))
        try expect(rows, in: store)
        let changed = rows.enumerated().map { $1.changed(Self.values(first + $0 + 1)) }
        let outdated = changed.map { RowUpdate(row: $0, baseVersion: $0.id == last.id ? 9 : 1) }
        let failure = #expect(throws: StoreConflict.Failure.self) {
          try store.save(.update(entity, slots: slots, outdated))
        }
        #expect(failure?.conflicts.map(\.id) == [last.id])
        try expect(rows, in: store)
        try store.save(.update(entity, slots: slots, changed.map { RowUpdate(row: $0, baseVersion: 1) }))
        try expect(changed, in: store)
        let refused = #expect(throws: StoreConflict.Failure.self) {
          try store.save(
            .delete(entity, rows.map { RowDelete(id: $0.id, baseVersion: $0.id == last.id ? 1 : 2) }))
        }
        #expect(refused?.conflicts.map(\.id) == [last.id])
        try expect(changed, in: store)
        try store.save(.delete(entity, rows.map { RowDelete(id: $0.id, baseVersion: 2) }))
        try expect([], in: store)
      }
    }
  }

  @Test(arguments: Backend.available)
  func `saves of more sets of attributes than a store keeps statements for write these attributes alone`(
    backend: Backend
  ) throws {
    try opened(backend) { stack in
      let store = stack.store
      var row = try store.insert("Sample", Self.values(1))
      let names = Self.values(1).keys.sorted()
      let greatest = (1 << names.count) - 1
      for mask in Array(1...greatest) + Array(1...8) {
        let chosen = names.indices.filter { mask & (1 << $0) != 0 }.map { names[$0] }
        let values = Self.values(mask + 1).filter { chosen.contains($0.key) }
        try store.save(row.update(values))
        row = row.changed(values)
        let isSame = try store.current(row)?.values == row.values
        #expect(isSame, "\(chosen)")
        // One statement more than the sets have.
        if mask == greatest { try store.insert("Track", ["isrc": .string("a"), "title": .string("b")]) }
      }
    }
  }

  @Test(arguments: Backend.available)
  func `a fetch with any limit returns the first rows, and a reader reads on during an unfinished fetch`(
    backend: Backend
  ) throws {
    try opened(backend) { stack in
      let store = stack.store
      let entity = store.entity("Sample")
      let rows = try (0..<1_100).map { try store.row("Sample", ["number": .int(Int64($0))]) }
      try store.save(.insert(entity, rows))
      let all = StoreQuery(entity: entity, sortKeys: [SortKey("number")])
      try store.reading { reader in
        for limit in [1, 63, 64, 65, 99, 100, 101, 319, 320, 321, 1_023, 1_024, 1_025, 1_026, 1_100, 1_101] {
          let query = StoreQuery(entity: entity, sortKeys: [SortKey("number")], limit: limit)
          let found = try reader.all(query)
          #expect(found.map(\.id) == rows.prefix(limit).map(\.id), "\(limit)")
          var read: [Row] = []
          let unfinished = try reader.fetch(query)
          _ = try unfinished.cursor.next(into: &read)
          #expect(try reader.count(all) == 1_100)
          while try unfinished.cursor.next(into: &read) {}
          #expect(read.map(\.id) == rows.prefix(limit).map(\.id), "\(limit)")
        }
      }
    }
  }

  @Test(arguments: Backend.available, [31, 32, 33, 4_095, 4_096, 4_097])
  func `an upsert of any number of rows changes the duplicates that differ, and each is found by its key`(
    backend: Backend, count: Int
  ) throws {
    try opened(backend) { stack in
      func upsert(_ titles: [String]) throws -> BatchInsertResult {
        let rows = titles.enumerated().map { number, title in
          ["isrc": .string("\(number)"), "title": .string(title)] as [String: AttributeValue]
        }
        let request = BatchInsertRequest(entityName: "Track", rows: rows, onDuplicate: .update(by: "isrc"))
        return try stack.context().performAndWait { try $0.execute(request) }
      }
      let first = try upsert(Array(repeating: "former", count: count))
      #expect(first.inserted.count == count && first.updated.isEmpty)
      let titles = (0...count).map { $0.isMultiple(of: 2) ? "title \($0)" : "former" }
      let second = try upsert(titles)
      #expect(second.inserted.count == 1 && second.updated.count == (count + 1) / 2)
      let found = try stack.store.fetch("Track")
      let titleByISRC = Dictionary(found.map { ($0["isrc"], $0["title"]) }) { first, _ in first }
      #expect(found.count == count + 1)
      #expect(titles.indices.allSatisfy { titleByISRC[.string("\($0)")] == .string(titles[$0]) })
      let keys = found.prefix(count).map(\.key)
      let read = try stack.store.reading { try $0.rows(keys, of: stack.store.entity("Track")) }
      #expect(read.map(\.key).sorted() == keys.sorted())
    }
  }

  @Test(arguments: Backend.available, [511, 512, 513, 1_025])
  func `a save that gives one of many owners too many members is refused with this owner`(
    backend: Backend, count: Int
  ) throws {
    try opened(backend) { stack in
      let store = stack.store
      let (team, player) = (store.entity("Team"), store.entity("Player"))
      let relationship = try #require(team.relationship(named: "players"))
      let teams = try (0..<count).map { _ in try store.row("Team") }
      try store.save(.insert(team, teams))
      func give(_ owners: [Row]) throws {
        let players = try owners.map { try store.row("Player", ["team": .reference($0.id)]) }
        let check = MemberCountCheck(relationship, owners: teams.map(\.key))
        try store.save(StoreSaveRequest(steps: [.insert(player, players)], memberCounts: [check]))
      }
      for crowded in [teams[0], teams[count - 1]] {
        let error = #expect(throws: CoherenceError.self) { try give(teams + [crowded]) }
        #expect(error?.code == .validationFailed)
        #expect(error?.objectIDs == [crowded.id])
        #expect(try store.fetch("Player").isEmpty)
      }
      try give(teams)
      let players = try store.fetch("Player")
      #expect(players.count == count)
      #expect(Set(players.map { $0["team"] }) == Set(teams.map { AttributeValue.reference($0.id) }))
    }
  }

  @Test(arguments: Backend.available, [511, 512, 513])
  func `values derived from members and targets follow a save of any number of owners`(
    backend: Backend, count: Int
  ) throws {
    let model = try ManagedObjectModel {
      Entity("Album") {
        Attribute("number", .int64)
        Attribute("title", .string, optional: true)
        Attribute("trackCount", .int64, derived: .count("tracks"))
        Attribute("length", .int64, derived: .sum("tracks.length"))
        Relationship("tracks", toMany: "Track", inverse: "album")
      }
      Entity("Track") {
        Attribute("length", .int64, default: 1)
        Attribute("albumTitle", .string, derived: .path("album.title"))
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
    }
    let stack = try LoggedStore(backend, model)
    defer { stack.close() }
    try stack.write { context in
      for number in 0..<count {
        try context.insertNewObject(forEntityName: "Album").setValue(Int64(number), for: "number")
      }
    }
    for round in 1...2 {
      try stack.write { context in
        for album in try context.fetch(FetchRequest<ManagedObject>(entityName: "Album")) {
          let number = try album.value(for: "number", as: Int64.self)
          try album.setValue("\(number) in \(round)", for: "title")
          let track = try context.insertNewObject(forEntityName: "Track")
          try track.setValue(number, for: "length")
          try track.setObject(album, for: "album")
        }
      }
      let albums = try stack.store.fetch("Album", by: [SortKey("number")])
      let numbers = (0..<Int64(count))
      #expect(albums.map { $0["trackCount"] } == numbers.map { _ in AttributeValue.int(Int64(round)) })
      #expect(albums.map { $0["length"] } == numbers.map { AttributeValue.int($0 * Int64(round)) })
      let titles = try stack.store.fetch("Track").map { $0["albumTitle"] }
      #expect(titles.count == round * count)
      #expect(Set(titles) == Set(numbers.map { AttributeValue.string("\($0) in \(round)") }))
    }
    try stack.write { context in
      for track in try context.fetch(FetchRequest<ManagedObject>(entityName: "Track")) { context.delete(track) }
    }
    let albums = try stack.store.fetch("Album")
    #expect(albums.count == count && albums.allSatisfy { $0["trackCount"] == .int(0) && $0["length"] == .int(0) })
  }
}
