import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let predicates = ConformanceSubject("Predicates") {
    comparisons
    nulls
    lists
    logic
    paths
  }

  /// A condition finds exactly the named records, saved or not, by fetch and by count.
  static func finds(_ sentence: String, _ entity: String, _ predicate: FetchPredicate, _ names: [String]) -> Case {
    Case(sentence) { stack in
      let sorted = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      let context = stack.context()
      try context.performAndWait {
        try Music.fill(context)
        try expectEqual(try context.names(entity, where: predicate), sorted, "what is found before the save")
        try expectEqual(try context.number(of: entity, where: predicate), names.count, "the count before the save")
        try context.save()
        try expectEqual(try context.names(entity, where: predicate), sorted, "what is found after the save")
      }
      try stack.read { context in
        try expectEqual(try context.names(entity, where: predicate), sorted, "what is found in the store")
        try expectEqual(try context.number(of: entity, where: predicate), names.count, "the count in the store")
      }
    }
  }

  private static let jazz = ["Bitches Brew", "Kind of Blue", "Live in Berlin"]

  @CasesBuilder private static var comparisons: [Case] {
    finds("equal finds equal numbers", "Album", equal("year", 1993), ["100% Pure_", "Debut"])
    finds(
      "not equal matches other numbers and missing ones", "Album", compare("year", .notEqual, 1993),
      ["Arrival", "Bitches Brew", "Kind of Blue", "Live in Berlin", "Tago Mago", "Untitled"])
    finds(
      "less leaves out the bound and missing numbers", "Album", compare("year", .less, 1970),
      [
        "Kind of Blue", "Live in Berlin",
      ])
    finds(
      "less or equal takes in the bound", "Album", compare("year", .lessOrEqual, 1960),
      [
        "Kind of Blue", "Live in Berlin",
      ])
    finds("greater leaves out the bound", "Album", compare("year", .greater, 1976), ["100% Pure_", "Debut"])
    finds(
      "greater or equal takes in the bound", "Album", compare("year", .greaterOrEqual, 1976),
      [
        "100% Pure_", "Arrival", "Debut",
      ])
    finds("an integer is compared with a fraction by value", "Album", compare("year", .less, 1959.5), ["Kind of Blue"])
    finds("an integer equals a double of its value", "Album", equal("year", 1959.0), ["Kind of Blue"])
    finds("an integer equals no fraction", "Album", equal("year", 1959.5), [])
    finds("a double is compared with an integer", "Performer", compare("rating", .greater, 4), ["Ella", "Miles"])
    finds("decimals are compared exactly", "Album", equal("price", decimal("9.99")), ["100% Pure_", "Debut"])
    finds(
      "a decimal is compared with an integer", "Album", compare("price", .greater, 12),
      [
        "Bitches Brew", "Tago Mago",
      ])
    finds("booleans are compared", "Album", equal("isLive", true), ["Live in Berlin"])
    finds(
      "texts are compared by bytes, upper case first", "Performer", compare("name", .less, "a"),
      [
        "Abba", "Bj\u{F6}rk", "Can", "Ella", "Miles",
      ])
    finds("an enumeration is compared by its raw value", "Album", equal("format", AlbumFormat.disc), [])
    finds(
      "two attributes are compared with each other", "Album",
      .comparison(.path(PropertyPath("title")), .less, .path(PropertyPath("artist.name")), []),
      ["Bitches Brew", "Kind of Blue"])
    finds(
      "a value on the left is compared as it would be on the right", "Album",
      .comparison(.value(.int(1970)), .less, .path(PropertyPath("year")), []),
      ["100% Pure_", "Arrival", "Debut", "Tago Mago"])
    finds("true finds everything", "Genre", .constant(true), ["Jazz", "Modal", "Pop", "Rock"])
    finds("false finds nothing", "Genre", .constant(false), [])
  }

  @CasesBuilder private static var nulls: [Case] {
    finds("equal to nothing finds missing values", "Album", equal("year", nil), ["Untitled"])
    finds(
      "not equal to nothing finds present values", "Performer", compare("rating", .notEqual, nil),
      [
        "Abba", "Bj\u{F6}rk", "Ella", "Miles",
      ])
    finds("less than nothing is false", "Album", compare("year", .less, nil), [])
    finds("greater or equal to nothing is false even for nothing", "Album", compare("year", .greaterOrEqual, nil), [])
    finds(
      "not turns a comparison with a missing value into true", "Album", .not(compare("year", .less, 1993)),
      ["100% Pure_", "Debut", "Untitled"])
    finds(
      "not equal is the opposite of equal", "Album", .not(compare("price", .notEqual, decimal("12"))),
      [
        "Live in Berlin"
      ])
    finds("a missing relationship equals nothing", "Album", equal("artist", nil), ["100% Pure_", "Untitled"])
    finds(
      "an attribute behind a missing relationship is missing", "Album", equal("artist.name", nil),
      [
        "100% Pure_", "Untitled",
      ])
    finds(
      "an attribute behind a missing relationship differs from every value", "Album",
      compare("artist.name", .notEqual, "Miles"),
      ["100% Pure_", "Arrival", "Debut", "Live in Berlin", "Tago Mago", "Untitled"])
    finds(
      "two missing values are equal", "Album",
      .comparison(.path(PropertyPath("year")), .equal, .path(PropertyPath("price")), []), ["Untitled"])
  }

  @CasesBuilder private static var lists: [Case] {
    finds("membership finds listed values", "Album", among("year", [1959, 1976, 2000]), ["Arrival", "Kind of Blue"])
    finds("membership of an empty list is false", "Album", among("year", []), [])
    finds(
      "a missing value matches a list that contains null", "Album", among("year", [1959, nil]),
      [
        "Kind of Blue", "Untitled",
      ])
    finds(
      "a missing value is not in a list without it", "Performer", .not(among("country", ["US", "IS"])),
      [
        "Abba", "Can",
      ])
    finds(
      "membership of texts ignores case when asked to", "Genre", among("name", ["jAZZ", "POP"], .caseInsensitive),
      [
        "Jazz", "Pop",
      ])
    finds(
      "membership of a thousand values", "Album", among("year", (1000..<2000).filter { $0 % 2 == 1 }),
      [
        "100% Pure_", "Debut", "Kind of Blue", "Tago Mago",
      ])
    finds("between takes in both bounds", "Album", between("year", 1959, 1970), jazz)
    finds("between swapped bounds there is nothing", "Album", between("year", 1970, 1959), [])
    finds("between is false for missing values", "Album", .not(between("year", 0, 3000)), ["Untitled"])
    finds("between with a missing bound is false", "Album", between("year", nil, 3000), [])
    finds(
      "between works for decimals", "Album", between("price", decimal("9.99"), decimal("10.5")),
      [
        "100% Pure_", "Debut", "Kind of Blue",
      ])
    finds("between works for texts", "Genre", between("name", "K", "Q"), ["Modal", "Pop"])
  }

  @CasesBuilder private static var logic: [Case] {
    finds("and needs every condition", "Album", .and([equal("year", 1993), equal("artist", nil)]), ["100% Pure_"])
    finds(
      "or matches if one condition matches", "Album", .or([equal("year", 1959), equal("year", nil)]),
      [
        "Kind of Blue", "Untitled",
      ])
    finds("and of nothing is true", "Genre", .and([]), ["Jazz", "Modal", "Pop", "Rock"])
    finds("or of nothing is false", "Genre", .or([]), [])
    finds("not of not is the condition itself", "Album", .not(.not(equal("year", 1959))), ["Kind of Blue"])
    finds(
      "conditions nest", "Album",
      .and([.or([equal("year", 1959), equal("year", 1970), equal("year", 1993)]), .not(equal("artist.country", "US"))]),
      ["100% Pure_", "Debut"])
    finds(
      "a hundred conditions are no burden", "Album",
      .or((0..<100).map { equal("year", 1900 + $0) }),
      ["100% Pure_", "Arrival", "Bitches Brew", "Debut", "Kind of Blue", "Live in Berlin", "Tago Mago"])
  }

  @CasesBuilder private static var paths: [Case] {
    finds("a path leads over a relationship", "Album", equal("artist.country", "US"), jazz)
    finds("a path leads over two relationships", "Track", equal("album.artist.name", "Ella"), ["Mack the Knife"])
    finds("a path leads over a relationship to its own entity", "Genre", equal("parent.name", "Jazz"), ["Modal"])
    finds("a path ends at an attribute of a subentity", "Performer", compare("formed", .greater, 1970), ["Abba"])
    finds(
      "a path leads to an attribute of the target's subentity", "Album", equal("artist.honours", 3),
      [
        "Live in Berlin"
      ])
    finds(
      "records of other entities have no value for a subentity's attribute", "Performer", equal("honours", nil),
      [
        "Abba", "Bj\u{F6}rk", "Can", "Miles", "nina",
      ])
    Case("a relationship is compared with an identifier") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let id = try context.one("Artist", where: equal("name", "Miles")).objectID
        try expectEqual(try context.names("Album", where: refers("artist", to: id)), ["Bitches Brew", "Kind of Blue"])
        try expectEqual(try context.number(of: "Album", where: .not(refers("artist", to: id))), 6)
      }
    }
    Case("a record is found by its own identifier") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let ids = try context.all("Genre", where: among("name", ["Jazz", "Rock"])).map(\.objectID)
        let own = FetchPredicate.membership(.path(.own), in: ids.map(AttributeValue.reference), [])
        try expectEqual(try context.names("Genre", where: own), ["Jazz", "Rock"])
        try expectEqual(try context.names("Genre", where: refers("self", to: ids[0])).count, 1)
      }
    }
    Case("a relationship is compared with an unsaved object") { stack in
      try stack.read { context in
        let artist = try context.make("Artist", ["name": "M"])
        try context.make("Album", ["title": "A"]).setObject(artist, for: "artist")
        try context.make("Album", ["title": "B"])
        try expectEqual(try context.names("Album", where: refers("artist", to: artist.objectID)), ["A"])
      }
    }
  }
}
