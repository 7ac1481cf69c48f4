import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let order = ConformanceSubject("Order") {
    ordered(
      "numbers ascend with missing ones first", "Album", [SortKey("year"), SortKey("title")],
      [
        "Untitled", "Kind of Blue", "Live in Berlin", "Bitches Brew", "Tago Mago", "Arrival", "100% Pure_", "Debut",
      ])
    ordered(
      "numbers descend with missing ones last", "Album", [SortKey("year", .reverse), SortKey("title")],
      [
        "100% Pure_", "Debut", "Arrival", "Tago Mago", "Bitches Brew", "Live in Berlin", "Kind of Blue", "Untitled",
      ])
    ordered(
      "decimals are ordered by value", "Album", [SortKey("price"), SortKey("title")],
      [
        "Arrival", "Untitled", "100% Pure_", "Debut", "Kind of Blue", "Live in Berlin", "Tago Mago", "Bitches Brew",
      ])
    ordered(
      "texts are ordered by bytes, upper case first", "Performer", [SortKey("name")],
      [
        "Abba", "Bj\u{F6}rk", "Can", "Ella", "Miles", "nina",
      ])
    ordered(
      "texts descend", "Performer", [SortKey("name", .reverse)],
      [
        "nina", "Miles", "Ella", "Can", "Bj\u{F6}rk", "Abba",
      ])
    ordered(
      "texts are ordered without case when asked to", "Track", [SortKey("title", options: .caseInsensitive)],
      [
        "Blue in Green", "caf\u{E9}", "Crying", "Dancing Queen", "Freddie Freeloader", "Human Behaviour",
        "Mack the Knife", "Pharaoh's Dance", "So What",
      ])
    ordered(
      "booleans are ordered false first", "Album", [SortKey("isLive", .reverse), SortKey("title")],
      [
        "Live in Berlin", "100% Pure_", "Arrival", "Bitches Brew", "Debut", "Kind of Blue", "Tago Mago", "Untitled",
      ])
    ordered(
      "a path orders by the related record, missing ones first", "Album",
      [
        SortKey("artist.name"), SortKey("title"),
      ],
      [
        "100% Pure_", "Untitled", "Arrival", "Debut", "Tago Mago", "Live in Berlin", "Bitches Brew", "Kind of Blue",
      ])
    ordered(
      "several sort keys apply in turn", "Performer",
      [
        SortKey("country", .reverse), SortKey("rating"), SortKey("name"),
      ], ["nina", "Miles", "Ella", "Abba", "Bj\u{F6}rk", "Can"])
    ordered(
      "sorting by an attribute of a subentity treats other entities' values as missing", "Performer",
      [
        SortKey("formed", .reverse), SortKey("name"),
      ], ["Abba", "Bj\u{F6}rk", "Can", "Ella", "Miles", "nina"])
    placedMissingValues
    ties
  }

  @CasesBuilder private static var placedMissingValues: [Case] {
    ordered(
      "numbers ascend with missing ones last when asked to", "Album",
      [SortKey("year", missingValues: .last), SortKey("title")],
      [
        "Kind of Blue", "Live in Berlin", "Bitches Brew", "Tago Mago", "Arrival", "100% Pure_", "Debut", "Untitled",
      ])
    ordered(
      "numbers descend with missing ones first when asked to", "Album",
      [SortKey("year", .reverse, missingValues: .first), SortKey("title")],
      [
        "Untitled", "100% Pure_", "Debut", "Arrival", "Tago Mago", "Bitches Brew", "Live in Berlin", "Kind of Blue",
      ])
    ordered(
      "a path orders by the related record, missing ones last when asked to", "Album",
      [SortKey("artist.name", missingValues: .last), SortKey("title")],
      [
        "Arrival", "Debut", "Tago Mago", "Live in Berlin", "Bitches Brew", "Kind of Blue", "100% Pure_", "Untitled",
      ])
    Case("a page of an order with missing values last ends with the records without a value") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        var request = FetchRequest<ManagedObject>(entityName: "Album")
          .sort("year", missingValues: .last).sort("title").limit(2, offset: 6)
        try expectEqual(try context.fetch(request).map { try $0.label }, ["Debut", "Untitled"])
        try context.make("Album", ["title": "A draft"])
        try expectEqual(try context.fetch(request).map { try $0.label }, ["Debut", "A draft"])
        request.includesPendingChanges = false
        try expectEqual(try context.fetch(request).map { try $0.label }, ["Debut", "Untitled"])
      }
    }
    Case("members without a value come first or last as the order of a request over members says") { stack in
      try stack.write { context in
        try Music.fill(context)
        try context.one("Album", where: equal("title", "Kind of Blue")).setValue(nil, for: "year")
      }
      try stack.read { context in
        let albums = try context.one("Artist", where: equal("name", "Miles"))[Performer.albumsKey].request
        let ascending = try albums.sort("year", missingValues: .last).fetch().map(\.title)
        let descending = try albums.sort("year", .reverse, missingValues: .first).fetch().map(\.title)
        try expectEqual(ascending, ["Bitches Brew", "Kind of Blue"])
        try expectEqual(descending, ["Kind of Blue", "Bitches Brew"])
      }
    }
  }

  /// An order is the same before the save, after it, and in the store.
  private static func ordered(_ sentence: String, _ entity: String, _ sort: [SortKey], _ names: [String]) -> Case {
    Case(sentence) { stack in
      let context = stack.context()
      try context.performAndWait {
        try Music.fill(context)
        try expectEqual(try context.names(entity, sort: sort), names, "the order before the save")
        try context.save()
      }
      try stack.read { try expectEqual(try $0.names(entity, sort: sort), names, "the order in the store") }
    }
  }

  @CasesBuilder private static var ties: [Case] {
    Case("records with equal sort values are in the order of their keys") { stack in
      let ids = try stack.write { context in
        let albums = try (0..<20).map { try context.make("Album", ["title": "\(20 - $0)", "year": $0 % 2]) }
        try context.obtainPermanentIDs(for: albums)
        return albums.map(\.objectID)
      }
      let sorted = ids.sorted { $0.key < $1.key }
      try stack.read { context in
        try expectEqual(try context.all("Album").map(\.objectID), sorted)
        let byYear = try context.all("Album", sort: [SortKey("year")]).map(\.objectID)
        let even = sorted.filter { ids.firstIndex(of: $0)! % 2 == 0 }
        let odd = sorted.filter { ids.firstIndex(of: $0)! % 2 == 1 }
        try expectEqual(byYear, even + odd)
      }
    }
    Case("unsaved records come after saved ones with equal sort values, in order of insertion") { stack in
      try stack.write { context in
        for title in ["s1", "s2"] { try context.make("Album", ["title": title, "year": 1]) }
      }
      try stack.read { context in
        for title in ["u2", "u1", "u3"] { try context.make("Album", ["title": title, "year": 1]) }
        let titles = try context.all("Album", sort: [SortKey("year")]).map { try $0.label }
        try expectEqual(titles, ["s1", "s2", "u2", "u1", "u3"])
      }
    }
    Case("dates, data and unsorted types are ordered alike on every store", model: Samples.model) { stack in
      try stack.write { context in
        for (name, bytes) in [("b", [1, 2]), ("c", [2]), ("a", [1]), ("d", [255])] as [(String, [UInt8])] {
          try context.make("Sample", ["name": name, "data": Data(bytes)])
        }
      }
      try stack.read { try expectEqual(try $0.names("Sample", sort: [SortKey("data")]), ["a", "b", "c", "d"]) }
    }
    Case("a changed record moves to its new place before the save") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        try context.one("Artist", where: equal("name", "nina")).setValue("Aretha", for: "name")
        let names = try context.names("Performer", sort: [SortKey("name")])
        try expectEqual(names, ["Abba", "Aretha", "Bj\u{F6}rk", "Can", "Ella", "Miles"])
      }
    }
  }
}
