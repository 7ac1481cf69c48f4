import CoherenceCore

extension ConformanceSubject {
  static let quantifiers = ConformanceSubject("Conditions on members") {
    oneToMany
    manyToMany
    counts
    amongMembers
    depths
  }

  @CasesBuilder private static var amongMembers: [Case] {
    Case("a value of any member is looked up among the members of the record, not of the member") { stack in
      try stack.write { context in
        for (name, country) in [("T", "TT"), ("U", "UU")] {
          try context.make("Artist", ["name": name, "country": country])
        }
        for (name, country) in [
          ("pupil of T", "X"), ("pupil of U", "Y"), ("friend of T", "X"), ("friend of pupil", "Y"),
        ] {
          try context.make("Artist", ["name": name, "country": country])
        }
        func artist(_ name: String) throws -> ManagedObject { try context.one("Artist", where: equal("name", name)) }
        try artist("T").setObjects([artist("pupil of T")], for: "pupils")
        try artist("T").setObjects([artist("friend of T")], for: "friends")
        try artist("U").setObjects([artist("pupil of U")], for: "pupils")
        try artist("pupil of U").setObjects([artist("friend of pupil")], for: "friends")
      }
      try stack.read { context in
        let found = try FetchPredicate(format: "ANY pupils.country IN friends.country")
        try expectEqual(try context.names("Artist", where: found), ["T"])
        let lost = try FetchPredicate(format: "ANY pupils.country NOT IN friends.country")
        try expectEqual(try context.names("Artist", where: lost), ["U"])
      }
    }
    Case("a member of a target is looked up among the members of the record, and in a list") { stack in
      try stack.write { context in
        for name in ["mentor", "a", "b"] { try context.make("Artist", ["name": name]) }
        func artist(_ name: String) throws -> ManagedObject { try context.one("Artist", where: equal("name", name)) }
        try artist("mentor").setObjects([artist("a"), artist("b")], for: "pupils")
        try artist("a").setObjects([artist("mentor"), artist("b")], for: "friends")
      }
      try stack.read { context in
        let b = try context.one("Artist", where: equal("name", "b")).objectID
        let expected: [(FetchPredicate, [String])] = [
          (try FetchPredicate(format: "ANY mentor.pupils IN friends"), ["a", "b"]),
          (try FetchPredicate(format: "ALL mentor.pupils NOT IN friends AND mentor != NULL"), []),
          (try FetchPredicate(format: "ANY mentor.pupils NOT IN %@", [b]), ["a", "b"]),
        ]
        for (predicate, names) in expected {
          try expectEqual(try context.names("Artist", where: predicate), names, predicate.description)
        }
      }
    }
  }

  @CasesBuilder private static var depths: [Case] {
    Case("a condition on members of members finds the right records at 45 levels") { stack in
      let count = 50
      try stack.write { context in
        var last: ManagedObject?
        for number in 0..<count {
          let genre = try context.make("Genre", ["name": "\(number)"])
          try genre.setObject(last, for: "parent")
          last = genre
        }
      }
      try stack.read { context in
        for depth in [1, 31, 32, 45] {
          let format =
            String(repeating: "ANY children (", count: depth) + "name != ''" + String(repeating: ")", count: depth)
          let found = try context.number(of: "Genre", where: try FetchPredicate(format: format))
          try expectEqual(found, count - depth, "the records with \(depth) levels of members")
        }
      }
    }
  }

  private static let long = compare("length", .greater, 300)

  @CasesBuilder private static var oneToMany: [Case] {
    finds("any member satisfies", "Album", members(.any, "tracks", long), ["Bitches Brew", "Kind of Blue"])
    finds(
      "no record without members has any", "Album", members(.any, "tracks", .constant(true)),
      [
        "100% Pure_", "Arrival", "Bitches Brew", "Debut", "Kind of Blue", "Live in Berlin",
      ])
    finds(
      "all members satisfy, also without members", "Album", members(.all, "tracks", long),
      [
        "Bitches Brew", "Kind of Blue", "Tago Mago", "Untitled",
      ])
    finds(
      "no member satisfies, also without members", "Album", members(.none, "tracks", long),
      [
        "100% Pure_", "Arrival", "Debut", "Live in Berlin", "Tago Mago", "Untitled",
      ])
    finds("none is not any", "Album", .not(members(.none, "tracks", long)), ["Bitches Brew", "Kind of Blue"])
    finds(
      "several conditions must match the same member", "Album",
      members(.any, "tracks", .and([compare("length", .less, 340), compare("title", .beginsWith, "B")])),
      ["Kind of Blue"])
    finds("conditions on members nest", "Performer", members(.any, "albums", members(.any, "tracks", long)), ["Miles"])
    finds(
      "a condition on members leads over a relationship", "Track",
      members(.any, "album.genres", equal("name", "Modal")), ["Blue in Green", "Freddie Freeloader", "So What"])
    finds(
      "a condition within leads back to the owner", "Performer",
      members(.all, "albums", equal("artist.country", "US")), ["Ella", "Miles", "nina"])
    finds("any of members to the own entity", "Performer", members(.any, "pupils", equal("name", "nina")), ["Ella"])
  }

  @CasesBuilder private static var manyToMany: [Case] {
    finds(
      "any many-to-many member satisfies", "Album", members(.any, "genres", equal("name", "Rock")),
      [
        "Bitches Brew", "Tago Mago",
      ])
    finds(
      "any is evaluated from the inverse side", "Genre", members(.any, "albums", compare("year", .less, 1965)),
      [
        "Jazz", "Modal",
      ])
    finds(
      "all many-to-many members satisfy", "Album", members(.all, "genres", equal("name", "Jazz")),
      [
        "Live in Berlin", "Untitled",
      ])
    finds(
      "no many-to-many member satisfies", "Genre", members(.none, "albums", equal("artist", nil)),
      [
        "Jazz", "Modal", "Rock",
      ])
    finds(
      "two conditions on members may hold of different members", "Album",
      .and([members(.any, "genres", equal("name", "Jazz")), members(.any, "genres", equal("name", "Rock"))]),
      ["Bitches Brew"])
  }

  @CasesBuilder private static var counts: [Case] {
    finds("members are counted", "Album", memberCount("tracks", .equal, 3), ["Kind of Blue"])
    finds("records without members count none", "Album", memberCount("tracks", .equal, 0), ["Tago Mago", "Untitled"])
    finds("a count is compared", "Album", memberCount("genres", .greaterOrEqual, 2), ["Bitches Brew", "Kind of Blue"])
    finds(
      "many-to-many members are counted from the other side", "Genre", memberCount("albums", .greater, 2),
      ["Jazz", "Pop"])
    finds(
      "members behind a relationship are counted", "Album", memberCount("artist.albums", .equal, 2),
      [
        "Bitches Brew", "Kind of Blue",
      ])
    finds(
      "two counts are compared", "Album",
      .comparison(.count(PropertyPath("tracks")), .greater, .count(PropertyPath("genres")), []),
      ["Debut", "Kind of Blue"])
  }
}
