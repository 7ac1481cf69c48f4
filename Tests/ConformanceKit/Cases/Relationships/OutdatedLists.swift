import CoherenceCore

extension ConformanceSubject {
  /// Loaded lists that the save of another writer has outdated, and that the context changes before it reads them again.
  @CasesBuilder static var outdatedLists: [Case] {
    addsToOutdated("ordered list", owner: "Album", member: "Track", by: "album", list: "tracks")
    addsToOutdated("unordered list", owner: "Artist", member: "Album", by: "artist", list: "albums")
    Case("a new member comes last in a list whose former order returns after another writer has changed the order") {
      stack in
      try OrderedList.tracks.fill(stack, ["a", "b", "c"])
      let (context, writer) = (stack.context(), stack.context())
      context.follow(writer)
      let owner = try context.performAndWait {
        let owner = try context.one("Album")
        owner[OrderedToManyKey<ManagedObject>("tracks")].move(from: 1, to: 0)
        return owner
      }
      try writer.performAndWait {
        try OrderedList.tracks.list(writer).move(from: 2, to: 0)
        try writer.save()
      }
      try context.performAndWait {
        let list = owner[OrderedToManyKey<ManagedObject>("tracks")]
        _ = try owner.labels(of: "tracks")
        list.move(from: 1, to: 0)
        let former = try owner.labels(of: "tracks")
        try OrderedList.tracks.add("d", to: list, in: context)
        try expectEqual(try owner.labels(of: "tracks"), former + ["d"])
      }
    }
  }

  private static func addsToOutdated(
    _ kind: String, owner: String, member: String, by reference: String, list: String
  ) -> Case {
    Case("a new member of an \(kind) that another writer has changed is in the list once after the save") { stack in
      try stack.write { context in
        let key = owner == "Album" ? "title" : "name"
        try context.make(member, ["title": "first"]).setObject(try context.make(owner, [key: "owner"]), for: reference)
      }
      let (context, writer) = (stack.context(), stack.context())
      context.follow(writer)
      let condition = owner == "Album" ? equal("title", "owner") : equal("name", "owner")
      let object = try context.performAndWait {
        let object = try context.one(owner, where: condition)
        try expectEqual(try object.labels(of: list), ["first"])
        return object
      }
      try writer.performAndWait {
        try writer.make(member, ["title": "second"]).setObject(try writer.one(owner, where: condition), for: reference)
        try writer.save()
      }
      try context.performAndWait {
        // The assignment reads no list.
        try context.make(member, ["title": "third"]).setObject(object, for: reference)
        try context.save()
        try expectEqual(try object.labels(of: list), ["first", "second", "third"])
      }
    }
  }
}
