import CoherenceCore
import Foundation

/// Filtered members, arithmetic and variables in conditions.
extension ConformanceSubject {
  static let expressions = ConformanceSubject("Expressions of conditions") {
    filteredMembers
    integers
    numbers
    refusals
    variables
  }

  private static func finds(
    _ sentence: String, _ entity: String = "Album", format: String, _ names: [String]
  ) -> Case {
    // Malformed text finds nothing, and so fails the case.
    finds(sentence, entity, (try? FetchPredicate(format: format)) ?? .constant(false), names)
  }

  // MARK: Members

  @CasesBuilder private static var filteredMembers: [Case] {
    finds(
      "the number of members that satisfy a condition is compared",
      format: "SUBQUERY(tracks, $t, $t.length > 300 AND $t.title CONTAINS \"e\").@count > 1", ["Kind of Blue"])
    finds(
      "the number of filtered members is compared with the number of all members",
      format: "SUBQUERY(tracks, $t, $t.length > 240).@count == tracks.@count",
      ["Bitches Brew", "Debut", "Kind of Blue", "Live in Berlin", "Tago Mago", "Untitled"])
    finds(
      "a record without the owner of members has none that satisfy a condition",
      format: "SUBQUERY(artist.albums, $a, $a.price > 15).@count == 0",
      ["100% Pure_", "Arrival", "Debut", "Live in Berlin", "Untitled"])
    finds(
      "filtered members have filtered members", "Performer",
      format: "SUBQUERY(albums, $a, SUBQUERY($a.tracks, $t, $t.length >= 282).@count >= 2).@count == 1", ["Miles"])
    finds(
      "members over a relationship with many on both sides are filtered",
      format: "SUBQUERY(genres, $g, $g.parent != NULL OR $g.name == \"Rock\").@count == 1 "
        + "AND SUBQUERY(genres, $g, $g.name BEGINSWITH[c] \"j\").@count != 0", ["Bitches Brew", "Kind of Blue"])
    finds(
      "a comparison with a filtered count is negated",
      format: "NOT SUBQUERY(tracks, $t, $t.length < 300).@count > 1",
      ["100% Pure_", "Arrival", "Bitches Brew", "Kind of Blue", "Live in Berlin", "Tago Mago", "Untitled"])
    finds(
      "a property of a member is compared with a property of the record",
      format: "SUBQUERY(tracks, $t, $t.length * 10 > year).@count == 2", ["Debut"])
    finds(
      "a property of a member is compared with a number of members of a related record",
      format: "SUBQUERY(tracks, $t, $t.length > artist.albums.@count * 200).@count > 1", ["Debut", "Kind of Blue"])
    finds(
      "any member is compared with a calculation of the record", format: "ANY tracks.length > year - 800",
      ["Bitches Brew"])
    finds(
      "a member of a member is compared with all records around it", "Performer",
      format: "SUBQUERY(albums, $a, SUBQUERY($a.tracks, $t, $t.length * 10 > $a.year AND $t.album.artist == SELF)"
        + ".@count >= 2).@count >= 1", ["Bj\u{F6}rk", "Miles"])
    // A track of the same artist is longer than all tracks of the album.
    finds(
      "a condition on members has a condition on the members of the record around them", "Album",
      .quantified(
        .any, PropertyPath("artist.albums.tracks"),
        .quantified(
          .all, PropertyPath(names: ["tracks"], outerLevel: 1),
          .comparison(.path(PropertyPath("length")), .less, .path(PropertyPath(names: ["length"], outerLevel: 1))))),
      ["Kind of Blue"])
    finds(
      "a missing value of the record equals a missing value of a member, and is in no order with others",
      format: "SUBQUERY(tracks, $t, $t.length > year).@count == 0 AND NONE tracks.album.released != released",
      ["100% Pure_", "Arrival", "Bitches Brew", "Debut", "Kind of Blue", "Live in Berlin", "Tago Mago", "Untitled"])
    Case("filtered counts see unsaved changes of members") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let predicate = try FetchPredicate(format: "SUBQUERY(tracks, $t, $t.length > 500).@count > 1")
        try expectEqual(try context.names("Album", where: predicate), ["Kind of Blue"])
        let album = try context.one("Album", where: equal("title", "Tago Mago"))
        for title in ["a", "b"] {
          try context.make("Track", ["title": title, "length": 600]).setObject(album, for: "album")
        }
        try context.one("Track", where: equal("title", "So What")).setValue(1, for: "length")
        try expectEqual(try context.names("Album", where: predicate), ["Tago Mago"])
        context.delete(try context.one("Track", where: equal("title", "b")))
        try expectEqual(try context.names("Album", where: predicate), [])
      }
    }
  }

  // MARK: Arithmetic

  @CasesBuilder private static var integers: [Case] {
    finds(
      "a difference lies between bounds", format: "year - 1900 BETWEEN {59, 70}",
      ["Bitches Brew", "Kind of Blue", "Live in Berlin"])
    finds("a remainder is compared", format: "modulus:by:(year, 10) == 3", ["100% Pure_", "Debut"])
    finds(
      "a quotient of integers is truncated", format: "year / 10 == 197", ["Arrival", "Bitches Brew", "Tago Mago"])
    finds(
      "negative quotients and remainders are truncated towards zero",
      format: "(1960 - year) / 10 == -3 AND modulus:by:(1960 - year, 10) == -3", ["100% Pure_", "Debut"])
    finds(
      "a number with the opposite sign is compared", format: "-year < -1970",
      ["100% Pure_", "Arrival", "Debut", "Tago Mago"])
    finds(
      "aggregates of members are calculated with", format: "tracks.@sum.length / tracks.@count > 280",
      ["Bitches Brew", "Kind of Blue", "Live in Berlin"])
    finds(
      "a division by zero has no result", format: "tracks.@sum.length / tracks.@count == NULL",
      ["Tago Mago", "Untitled"])
    finds(
      "a result is among values", format: "year + tracks.@count IN {1962, 1971, NULL}",
      ["Bitches Brew", "Kind of Blue", "Tago Mago", "Untitled"])
    finds(
      "a calculation is compared with a path", "Track", format: "length * 2 > album.year", ["Pharaoh's Dance"])
    finds(
      "an overflow has no result, also where a later operation would lead back into the range",
      format: "year * 9223372036854775807 - year * 9223372036854775807 == 0", [])
    finds(
      "a comparison with an overflow is false",
      format: "NOT (year * 9223372036854775807 > 0) AND year * 9223372036854775807 == NULL AND year != NULL",
      ["100% Pure_", "Arrival", "Bitches Brew", "Debut", "Kind of Blue", "Live in Berlin", "Tago Mago"])
    finds(
      "thirty operations in a row are calculated",
      format: "year" + String(repeating: " + 1", count: 30) + " == 1989", ["Kind of Blue"])
  }

  @CasesBuilder private static var numbers: [Case] {
    finds(
      "a decimal is multiplied by an integer", format: "price * tracks.@count > 19",
      ["Bitches Brew", "Debut", "Kind of Blue"])
    finds("a product of decimals is exact", format: "price * 2 == 19.98", ["100% Pure_", "Debut"])
    finds(
      "a product of decimals close to zero is rounded",
      format: "price * 0.00000000000000000000000000000000000001 * 0.00000000000000000000000000000000000001"
        + " * 0.00000000000000000000000000000000000001 * 0.0000000000001 > 0 AND price * 2 == 19.98",
      ["100% Pure_", "Debut"])
    finds(
      "a product of decimals closer to zero than every decimal is zero",
      format: "price * 0.00000000000000000000000000000000000001 * 0.00000000000000000000000000000000000001"
        + " * 0.00000000000000000000000000000000000001 * 0.00000000000000000001 == 0 AND price * 2 == 19.98",
      ["100% Pure_", "Debut"])
    finds("a quotient of decimals has a fraction", format: "price / 4 == 2.625", ["Kind of Blue"])
    finds(
      "a quotient of decimals close to zero is calculated",
      format: "price * 0.00000000000000000000000000000000000001 * 0.00000000000000000000000000000000000001"
        + " * 0.00000000000000000000000000000000000001 / 3 > 0 AND price * 2 == 19.98",
      ["100% Pure_", "Debut"])
    finds(
      "floating-point numbers are multiplied", "Performer", format: "rating * 2 >= 9", ["Ella", "Miles"])
    finds(
      "an integer and a fraction give a fraction", format: "year / 2.0 == 979.5", ["Kind of Blue"])
    finds(
      "an infinity is no result", "Performer", format: "rating / 0 == NULL AND rating != NULL",
      ["Abba", "Bj\u{F6}rk", "Ella", "Miles"])
  }

  @CasesBuilder private static var refusals: [Case] {
    Case("operands that are no numbers, or have no common type, are refused") { stack in
      try stack.read { context in
        for format in [
          "title + 1 > 2", "price * artist.rating > 1", "modulus:by:(price, 2) == 1", "artist * 2 == 4",
          "SUBQUERY(artist, $a, $a.name == \"x\").@count > 2", "SUBQUERY(tracks, $t, $t.title > 3).@count > 2",
        ] {
          let predicate = try FetchPredicate(format: format)
          try expectThrows(.invalidPredicate) { try context.names("Album", where: predicate) }
        }
        let unknown = try FetchPredicate(format: "SUBQUERY(tracks, $t, $t.nothing > 3).@count > 2")
        try expectThrows(.unknownProperty) { try context.names("Album", where: unknown) }
      }
    }
  }

  // MARK: Variables

  @CasesBuilder private static var variables: [Case] {
    Case("a fetch finds by the values of variables") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let template = try FetchPredicate(
          format: "year BETWEEN $years AND ANY genres.name == $genre "
            + "AND SUBQUERY(tracks, $t, $t.length > $length).@count IN $counts")
        func titles(_ values: [String: (any Sendable)?]) throws -> [String] {
          try context.names("Album", where: try template.substituting(values))
        }
        try expectEqual(
          try titles(["years": [1900, 1975], "genre": "Jazz", "length": 300, "counts": [1, 3]]),
          ["Bitches Brew", "Kind of Blue"])
        try expectEqual(
          try titles(["years": [1970, 1999], "genre": "Pop", "length": 250, "counts": Set([2])]), ["Debut"])
        let missing = try FetchPredicate(format: "year == $year").substituting(["year": nil])
        try expectEqual(try context.names("Album", where: missing), ["Untitled"])
      }
    }
    Case("a fetch with a variable without a value throws and names the variable") { stack in
      try stack.read { context in
        for format in [
          "year == $since", "year IN $since", "year BETWEEN $since", "ANY tracks.length == $since", "year + $since > 1",
          "SUBQUERY(tracks, $t, $t.length > $since).@count > 2", "NOT ($since == year)",
        ] {
          let predicate = try FetchPredicate(format: format).substituting(["other": 1])
          let error = try expectThrows(.invalidPredicate) { try context.names("Album", where: predicate) }
          try expect(error.message.contains("'$since'"), "the name of the variable in: \(error.message)")
        }
      }
    }
  }
}
