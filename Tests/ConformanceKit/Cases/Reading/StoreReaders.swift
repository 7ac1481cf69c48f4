import CoherenceCore
import Foundation

extension ConformanceSubject {
  /// The store protocol itself, without a context in between.
  static let storeReaders = ConformanceSubject("Readers of a store") {
    rows
    links
    keys
  }

  /// Runs a block with a reader of the case's store.
  private static func reading<T>(_ stack: ConformanceStack, _ body: (any StoreReader) throws -> T) throws -> T {
    let reader = try stack.store.makeReader()
    defer { reader.finish() }
    return try body(reader)
  }

  /// Saves tracks of lengths from 0 on, and returns their keys.
  private static func tracks(_ stack: ConformanceStack, _ count: Int) throws -> [Int64] {
    try stack.write { context in
      let tracks = try (0..<count).map { try context.make("Track", ["title": "T\($0)", "length": $0]) }
      try context.save()
      return tracks.map(\.objectID.key)
    }
  }

  @CasesBuilder private static var rows: [Case] {
    Case("rows are read by their keys and missing ones are left out") { stack in
      let keys = try tracks(stack, 5)
      let root = try stack.model.entity(named: "Track").root
      let missing = keys.max()! + 1000
      try reading(stack) { reader in
        let wanted = [keys[3], missing, keys[1]]
        try expectEqual(Set(try reader.rows(wanted, of: root).map(\.key)), [keys[3], keys[1]])
        try expectEqual(try reader.row(keys[2], of: root)?.key, keys[2])
        try expect(try reader.row(missing, of: root) == nil, "no row")
      }
    }
    Case("a row read by its key is of its own entity in the hierarchy") { stack in
      let ids = try stack.write { context in
        let objects = try ["Artist", "Legend", "Band"].map { try context.make($0, ["name": $0]) }
        try context.save()
        return objects.map(\.objectID)
      }
      let root = try stack.model.entity(named: "Performer")
      try reading(stack) { reader in
        let names = try ids.map { try reader.row($0.key, of: root)?.entity.name }
        try expectEqual(names, ["Artist", "Legend", "Band"])
        let rows = try reader.rows(ids.map(\.key), of: root)
        try expectEqual(Set(rows.map(\.entity.name)), ["Artist", "Legend", "Band"])
      }
    }
    Case("a store that counts applies limit and offset") { stack in
      _ = try tracks(stack, 10)
      let entity = try stack.model.entity(named: "Track")
      try reading(stack) { reader in
        for (limit, offset, expected) in [(Int?.none, 0, 10), (3, 0, 3), (3, 8, 2), (nil, 4, 6), (0, 0, 0)] {
          let count = try reader.count(StoreQuery(entity: entity, limit: limit, offset: offset))
          // A store may leave the counting to Core.
          if let count { try expectEqual(count, expected, "the count") }
        }
      }
    }
    Case("a fetch that claims to be exact is exact") { stack in
      _ = try tracks(stack, 10)
      let entity = try stack.model.entity(named: "Track")
      let predicate = try compare("length", .greaterOrEqual, 4).checked(for: entity)
      let query = StoreQuery(
        entity: entity, predicate: predicate, sortKeys: [SortKey("length", .reverse)], limit: 3, offset: 1)
      let slot = try unwrap(entity.attribute(named: "length")).slot
      try reading(stack) { reader in
        let fetch = try reader.fetch(query)
        var rows: [Row] = []
        while try fetch.cursor.next(into: &rows) {}
        let lengths: [Int64] = rows.compactMap { if case .int(let length) = $0[slot] { length } else { nil } }
        try expect(Set(lengths).isSuperset(of: [6, 7, 8]), "every wanted row")
        if fetch.isPredicateExact { try expect(lengths.allSatisfy { $0 >= 4 }, "no other row") }
        if fetch.isOrderExact { try expectEqual(lengths, lengths.sorted(by: >)) }
        if fetch.isRangeExact {
          try expect(fetch.isPredicateExact && fetch.isOrderExact, "an exact range of exact rows only")
          try expectEqual(lengths, [8, 7, 6])
        }
      }
    }
  }

  @CasesBuilder private static var links: [Case] {
    Case("links are read from either side in their order") { stack in
      let (albums, genres) = try stack.write { context in
        let genres = try ["G", "H", "I"].map { try context.make("Genre", ["name": $0]) }
        let albums = try ["A", "B"].map { try context.make("Album", ["title": $0]) }
        try albums[0].setObjects([genres[2], genres[0]], for: "genres")
        try albums[1].setObjects([genres[0], genres[1]], for: "genres")
        try context.save()
        return (albums.map(\.objectID.key), genres.map(\.objectID.key))
      }
      let relationship = try unwrap(stack.model.entity(named: "Album").relationship(named: "genres"), "a relationship")
      let pairs = Set([
        [albums[0], genres[0]], [albums[0], genres[2]], [albums[1], genres[0]], [albums[1], genres[1]],
      ])
      let table = try unwrap(
        try stack.store.environment.linkTables.first { table in
          table.forward == relationship || table.forward == relationship.inverse
        }, "a link table")
      let isForward = table.forward == relationship
      try reading(stack) { reader in
        for (keys, fromSource) in [(albums, isForward), (genres, !isForward)] {
          let links = try reader.links(table, of: keys, fromSource: fromSource)
          let found = links.map { isForward ? [$0.source, $0.target] : [$0.target, $0.source] }
          try expectEqual(found.count, 4)
          try expectEqual(Set(found), pairs)
          let order = links.map { fromSource ? [$0.source, $0.target] : [$0.target, $0.source] }
          try expectEqual(order, order.sorted { $0.lexicographicallyPrecedes($1) })
        }
        let ofOne = try reader.links(table, of: [albums[0]], fromSource: isForward)
        try expectEqual(Set(ofOne.map { isForward ? $0.target : $0.source }), [genres[0], genres[2]])
      }
    }
  }

  @CasesBuilder private static var keys: [Case] {
    Case("keys are allocated in the requested number and never twice") { stack in
      let root = try stack.model.entity(named: "Track").root
      let store = try stack.store
      var seen: Set<Int64> = Set(try tracks(stack, 3))
      for count in [1, 5, 1, 300] {
        let keys = try store.allocateKeys(count, for: root)
        try expectEqual(keys.count, count)
        for key in keys { try expect(seen.insert(key).inserted, "a fresh key") }
      }
    }
  }
}
