import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let aggregates = ConformanceSubject("Aggregates") {
    functions
    groups
    conditions
    records
    subentities
  }

  @CasesBuilder private static var functions: [Case] {
    Case.computed("a column has the values of a property whose name an earlier column has") { stack in
      try stack.write { context in
        for (title, year) in [("A", 1959), ("B", 1959), ("C", 1970)] {
          try context.make("Album", ["title": title, "year": year])
        }
      }
      try stack.read { context in
        let request = aggregate("Album", by: ["year"], [.count(named: "year"), .property("year", named: "when")])
        try expectEqual(
          try context.table(request.changed { $0.sortKeys = [SortKey("when")] }), ["2 | 1959", "1 | 1970"])
      }
    }
    Case.computed("aggregates of all records are one row") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let request = aggregate(
          "Track", [.count, .sum(of: "length"), .average(of: "length"), .minimum(of: "title"), .maximum(of: "title")])
        try expectEqual(
          try context.table(request), ["9 | 3827 | \(3827.0 / 9) | 'Blue in Green' | 'caf\\u{e9}'"])
      }
    }
    Case.computed("aggregates of no records are one row with the count 0, the sum 0 and no other value") { stack in
      try stack.read { context in
        let request = aggregate(
          "Album",
          [
            .count, .sum(of: "year"), .sum(of: "price"), .average(of: "year"), .minimum(of: "title"),
            .count(of: "year"),
          ])
        try expectEqual(try context.table(request), ["0 | 0 | decimal(0) | null | null | 0"])
        try expectEqual(try context.table(aggregate("Album", by: ["title"], ["title", .count])), [])
      }
    }
    Case.computed("aggregates leave missing values out") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let request = aggregate(
          "Album",
          [
            .count, .count(of: "year"), .countDistinct(of: "year"), .countDistinct(of: "artist"), .count(of: "artist"),
            .minimum(of: "year"), .average(of: "price"),
          ])
        try expectEqual(try context.table(request), ["8 | 7 | 6 | 5 | 6 | 1959 | decimal(12.955)"])
      }
    }
  }

  @CasesBuilder private static var groups: [Case] {
    Case.computed("records are grouped over a to-one relationship, and missing keys form one group") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let request = aggregate("Album", by: ["artist.name"], ["artist.name", .count, .sum(of: "price")])
        try expectEqual(
          try context.table(request),
          [
            "null | 2 | decimal(9.99)", "'Abba' | 1 | decimal(0)", "'Bj\\u{f6}rk' | 1 | decimal(9.99)",
            "'Can' | 1 | decimal(15.25)", "'Ella' | 1 | decimal(12)", "'Miles' | 2 | decimal(30.5)",
          ])
      }
    }
    Case.computed("records are grouped by a to-one relationship, whose key is an identifier") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let miles = try context.one("Artist", where: equal("name", "Miles")).objectID
        let rows = try context.fetchDictionaries(aggregate("Album", by: ["artist"], ["artist", .count]))
        try expectEqual(rows.count, 6)
        try expectEqual(rows.filter { $0["artist"] == .reference(miles) }.map { $0["@count"] }, [.int(2)])
        try expectEqual(rows.filter { $0["artist"] == .null }.map { $0["@count"] }, [.int(2)])
      }
    }
    Case.computed("records are grouped by several keys") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let request = aggregate("Album", by: ["artist.country", "isLive"], ["isLive", "artist.country", .count])
        try expectEqual(
          try context.table(request),
          ["false | null | 3", "false | 'IS' | 1", "false | 'SE' | 1", "false | 'US' | 2", "true | 'US' | 1"])
      }
    }
    Case.computed("groups without aggregates are the different values of their keys") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        try expectEqual(
          try context.table(aggregate("Album", by: ["year"], ["year"])),
          ["null", "1959", "1960", "1970", "1971", "1976", "1993"])
      }
    }
    Case.computed("records are grouped by the number of their members") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let request = aggregate("Performer", by: ["albums.@count"], ["albums.@count", .count, .maximum(of: "name")])
        try expectEqual(try context.table(request), ["0 | 1 | 'nina'", "1 | 4 | 'Ella'", "2 | 1 | 'Miles'"])
      }
    }
    Case.computed("a key that is no column groups the records all the same") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        try expectEqual(
          try context.table(aggregate("Album", by: ["isLive"], [.count(named: "albums")])), ["7", "1"])
      }
    }
  }

  @CasesBuilder private static var conditions: [Case] {
    Case.computed("a having predicate chooses groups by aggregates and by keys") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let request = aggregate("Album", by: ["artist.name"], ["artist.name", .sum(of: "price", named: "total")])
        func names(_ format: String) throws -> [String] {
          try context.table(try request.changed { $0.havingPredicate = try FetchPredicate(format: format) })
        }
        try expectEqual(try names("@count > 1"), ["null | decimal(9.99)", "'Miles' | decimal(30.5)"])
        try expectEqual(
          try names("total > 12 AND artist.name != NULL"), ["'Can' | decimal(15.25)", "'Miles' | decimal(30.5)"])
        try expectEqual(
          try names("artist.name BEGINSWITH \"E\" OR @max.year == 1976"),
          ["'Abba' | decimal(0)", "'Ella' | decimal(12)"])
        try expectEqual(
          try names("@avg.price BETWEEN {15, 15.25}"), ["'Can' | decimal(15.25)", "'Miles' | decimal(30.5)"])
        try expectEqual(try names("artist.name MATCHES \"[AC].*\""), ["'Abba' | decimal(0)", "'Can' | decimal(15.25)"])
        try expectEqual(try names("@avg.year > 1964.25 AND @avg.year < 1964.75"), ["'Miles' | decimal(30.5)"])
        try expectEqual(try names("@count > 5"), [])
      }
    }
    Case.computed("a having predicate without group keys keeps or drops the only row") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let request = aggregate("Album", [.count])
        try expectEqual(
          try context.table(try request.changed { $0.havingPredicate = try FetchPredicate(format: "@count > 7") }),
          ["8"])
        try expectEqual(
          try context.table(try request.changed { $0.havingPredicate = try FetchPredicate(format: "@count > 8") }), [])
      }
    }
    Case.computed("groups are ordered by aggregates and keys, ties by the group keys") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let request = aggregate("Album", by: ["year"], ["year", .count])
        func rows(_ keys: SortKey..., limit: Int? = nil, offset: Int = 0) throws -> [String] {
          try context.table(
            request.changed {
              $0.sortKeys = keys
              $0.fetchLimit = limit
              $0.fetchOffset = offset
            })
        }
        try expectEqual(try rows(SortKey("@count", .reverse), limit: 3), ["1993 | 2", "null | 1", "1959 | 1"])
        try expectEqual(try rows(SortKey("@count", .reverse), limit: 2, offset: 1), ["null | 1", "1959 | 1"])
        try expectEqual(try rows(SortKey("year", .reverse), limit: 2), ["1993 | 2", "1976 | 1"])
        try expectEqual(try rows(SortKey("year", .reverse), offset: 6), ["null | 1"])
        try expectEqual(try rows(SortKey("@min.price"), limit: 2), ["null | 1", "1976 | 1"])
        try expectEqual(try rows(SortKey("@avg.price", .reverse), limit: 2), ["1970 | 1", "1971 | 1"])
        try expectEqual(try rows(limit: 0), [])
        try expectEqual(try rows(offset: 10), [])
      }
    }
    Case.computed("groups without a value come first or last as the order says") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let request = aggregate("Album", by: ["year"], ["year"])
        func years(_ key: SortKey, limit: Int? = nil) throws -> [String] {
          try context.table(
            request.changed {
              $0.sortKeys = [key]
              $0.fetchLimit = limit
            })
        }
        try expectEqual(
          try years(SortKey("year", missingValues: .last)),
          ["1959", "1960", "1970", "1971", "1976", "1993", "null"])
        try expectEqual(try years(SortKey("year", .reverse, missingValues: .first), limit: 2), ["null", "1993"])
        try expectEqual(
          try years(SortKey("@max.price", missingValues: .last)),
          ["1993", "1959", "1960", "1971", "1970", "null", "1976"])
        try expectEqual(
          try years(SortKey("@max.price", .reverse, missingValues: .first), limit: 3), ["null", "1976", "1970"])
      }
    }
    Case.computed("groups are ordered without regard to case when the order says so") { stack in
      try stack.write { context in for name in ["b", "A", "a", "B"] { try context.make("Playlist", ["name": name]) } }
      try stack.read { context in
        let request = aggregate("Playlist", by: ["name"], ["name"])
        try expectEqual(try context.table(request), ["'A'", "'B'", "'a'", "'b'"])
        try expectEqual(
          try context.table(request.changed { $0.sortKeys = [SortKey("name", options: .caseInsensitive)] }),
          ["'A'", "'a'", "'B'", "'b'"])
      }
    }
  }

  @CasesBuilder private static var records: [Case] {
    Case.computed("only the records that satisfy the predicate take part") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        try expectEqual(
          try context.table(
            aggregate("Track", [.count, .sum(of: "length")], where: equal("album.artist.name", "Miles"))),
          ["4 | 2674"])
        try expectEqual(
          try context.table(
            aggregate("Track", [.count, .sum(of: "length")], where: compare("title", .matches, "[BD].*"))),
          ["2 | 567"])
        try expectEqual(
          try context.table(
            aggregate("Album", [.count], where: members(.any, "genres", equal("name", "Jazz")))), ["3"])
      }
    }
    Case.computed("only the records in the range of the fetch take part") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let request = aggregate("Track", [.count, .sum(of: "length")]).changed {
          $0.records = $0.records.sort("length").limit(3, offset: 1)
        }
        try expectEqual(try context.table(request), ["3 | 764"])
      }
    }
  }

  @CasesBuilder private static var subentities: [Case] {
    Case.computed("records of other entities have no value of a subentity's attribute") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        try expectEqual(
          try context.table(aggregate("Performer", by: ["formed"], ["formed", .count])), ["null | 5", "1972 | 1"])
        try expectEqual(
          try context.table(
            aggregate("Performer", [.count(of: "honours"), .sum(of: "honours"), .minimum(of: "honours")])),
          ["1 | 3 | 3"])
        try expectEqual(
          try context.table(aggregate("Performer", by: ["honours"], ["honours", .count])), ["null | 5", "3 | 1"])
      }
    }
    Case.computed("aggregates without subentities leave their records out") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let request = aggregate("Artist", [.count, .maximum(of: "rating")])
        try expectEqual(try context.table(request), ["4 | 5.0"])
        try expectEqual(try context.table(request.changed { $0.records.includesSubentities = false }), ["3 | 4.5"])
      }
    }
  }
}
