import CoherenceCore

extension ConformanceSubject {
  /// Edits of members that the context takes back after another writer has saved the same edit.
  static let revertedMembers = ConformanceSubject("Reverted edits of members") {
    Case("an added member that another writer has added too is removed") { stack in
      try expectReverted(stack, .genres, first: true)
    }
    Case("a removed member that another writer has removed too is added") { stack in
      try expectReverted(stack, .genres, first: false)
    }
    Case("a member that another writer has moved to the same owner leaves the owner's list") { stack in
      try expectReverted(stack, .albums, first: true)
    }
    Case("a member that another writer has taken from the same owner returns to the owner's list") { stack in
      try expectReverted(stack, .albums, first: false)
    }
    Case("a member that a parent and another writer have added is removed by a child") { stack in
      try expectReverted(stack, .genres, first: true, byChild: true)
    }
    Case("a member that a parent and another writer have removed is added by a child") { stack in
      try expectReverted(stack, .genres, first: false, byChild: true)
    }
    Case("a member that a parent and another writer have moved to one owner leaves the owner's list in a child") {
      stack in
      try expectReverted(stack, .albums, first: true, byChild: true)
    }
    Case("a member that a parent and another writer have taken from one owner returns to the list in a child") {
      stack in
      try expectReverted(stack, .albums, first: false, byChild: true)
    }
    Case("a link that a child makes and takes back, and that its parent has made in between, ends on both sides") {
      stack in
      try stack.write { context in
        for title in ["A", "B"] { try context.make("Album", ["title": title]) }
        try context.make("Genre", ["name": "g"])
      }
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      let (album, genre) = try child.performAndWait {
        let album = try child.one("Album", where: equal("title", "A"))
        let genre = try child.one("Genre")
        // The list of the album is read before the parent's edit, and that of the genre after it.
        try album.setObjects([genre], for: "genres")
        return (album, genre)
      }
      try parent.performAndWait {
        let album = try parent.one("Album", where: equal("title", "A"))
        try parent.one("Genre").setObjects([album], for: "albums")
      }
      try child.performAndWait {
        try genre.setObjects([try child.one("Album", where: equal("title", "B"))], for: "albums")
        try expectEqual(try album.objects(for: "genres").count, 0)
        try child.save()
      }
      let hasGenre = compare("genres.@count", .greater, 0)
      try parent.performAndWait {
        try expectEqual(try parent.names("Album", where: hasGenre), ["B"])
        try parent.save()
        try expectEqual(try parent.names("Album", where: hasGenre), ["B"])
      }
      try stack.read { try expectEqual(try $0.names("Album", where: hasGenre), ["B"]) }
    }
    Case("an owner that gives a member away matches no condition on its members") { stack in
      try stack.write { context in
        try context.make("Album", ["title": "t"])
        for name in ["A", "B"] { try context.make("Artist", ["name": name]) }
      }
      let (context, other) = (stack.context(), stack.context())
      context.follow(other)
      let objects = try context.performAndWait {
        let objects = try [context.one("Album")] + context.all("Artist", sort: [SortKey("name")])
        try objects[0].setObject(objects[1], for: "artist")
        return objects
      }
      try other.performAndWait {
        try other.one("Album").setObject(try other.one("Artist", where: equal("name", "A")), for: "artist")
        try other.save()
      }
      try context.performAndWait {
        try objects[0].setObject(objects[2], for: "artist")
        let hasAlbum = compare("albums.@count", .greater, 0)
        try expectEqual(try context.names("Artist", where: hasAlbum), ["B"])
        try context.save()
        try expectEqual(try context.names("Artist", where: hasAlbum), ["B"])
        try expectEqual(try objects[1].objects(for: "albums").count, 0)
      }
    }
  }

  /// A list and its other side.
  private struct List {
    let owner: String
    let ownerName: String
    let relationship: String
    let member: String
    let memberName: String
    let inverse: String

    static let genres = List(
      owner: "Album", ownerName: "title", relationship: "genres", member: "Genre", memberName: "name", inverse: "albums"
    )
    static let albums = List(
      owner: "Artist", ownerName: "name", relationship: "albums", member: "Album", memberName: "title",
      inverse: "artist")

    /// Adds or removes the member with a name.
    ///
    /// - Parameter isLoaded: Whether the list is changed itself, and read. Otherwise the other side is changed.
    func edit(_ name: String, adds: Bool, in context: ManagedObjectContext, isLoaded: Bool) throws {
      let owner = try context.one(owner, where: equal(ownerName, name))
      let object = try context.one(member, where: equal(memberName, name))
      if isLoaded {
        try owner.setObjects(adds ? [object] : [], for: relationship)
      } else if member == "Album" {
        try object.setObject(adds ? owner : nil, for: inverse)
      } else {
        try object.setObjects(adds ? [owner] : [], for: inverse)
      }
    }
  }

  /// Edits a list, lets another writer save the same edit, reverts the edit, and saves.
  ///
  /// - Parameters:
  ///   - first: Whether the first edit adds the member.
  ///   - byChild: Whether a child context reverts the edit, and saves into the context.
  private static func expectReverted(
    _ stack: ConformanceStack, _ list: List, first isAdded: Bool, byChild: Bool = false
  ) throws {
    for isLoaded in [false, true] {
      let name = "\(isLoaded)"
      try stack.write { context in
        try context.make(list.owner, [list.ownerName: name])
        try context.make(list.member, [list.memberName: name])
        if !isAdded { try list.edit(name, adds: true, in: context, isLoaded: true) }
      }
      let (context, other) = (stack.context(), stack.context())
      context.follow(other)
      let owner = try context.performAndWait {
        try list.edit(name, adds: isAdded, in: context, isLoaded: isLoaded)
        return try context.one(list.owner, where: equal(list.ownerName, name))
      }
      try other.performAndWait {
        try list.edit(name, adds: isAdded, in: other, isLoaded: true)
        try other.save()
      }
      if byChild {
        let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: context)
        try child.performAndWait {
          try list.edit(name, adds: !isAdded, in: child, isLoaded: isLoaded)
          try child.save()
        }
      }
      try context.performAndWait {
        if !byChild { try list.edit(name, adds: !isAdded, in: context, isLoaded: isLoaded) }
        try expectEqual(try owner.objects(for: list.relationship).count, isAdded ? 0 : 1)
        try context.save()
        try expectEqual(try owner.objects(for: list.relationship).count, isAdded ? 0 : 1)
      }
      try stack.read { context in
        let stored = try context.one(list.owner, where: equal(list.ownerName, name))
        try expectEqual(try stored.objects(for: list.relationship).count, isAdded ? 0 : 1)
      }
    }
  }
}
