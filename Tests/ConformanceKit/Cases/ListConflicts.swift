import CoherenceCore

/// An ordered list is a value of its owner, with the owner's version.
extension ConformanceSubject {
  static let listConflicts = ConformanceSubject("List conflicts") {
    conflicts(of: "an ordered one-to-many relationship", tracks)
    conflicts(of: "an ordered many-to-many relationship", band)
    conflicts(of: "an ordered relationship without inverse", .init("Playlist", "name", "entries", "Track", "title"))
    deletes(of: "an ordered one-to-many relationship", tracks)
    deletes(of: "an ordered many-to-many relationship", band)
    bothSides
    followers
    discarded
  }

  /// An ordered relationship, with the names of owner and members.
  private struct OrderedList: Sendable {
    let owner: String, ownerName: String, relationship: String, member: String, memberName: String

    init(_ owner: String, _ ownerName: String, _ relationship: String, _ member: String, _ memberName: String) {
      self.owner = owner
      self.ownerName = ownerName
      self.relationship = relationship
      self.member = member
      self.memberName = memberName
    }

    func fill(_ stack: ConformanceStack, _ names: [String]) throws {
      try stack.write { context in
        let members = try names.map { try context.make(member, [memberName: $0]) }
        try context.make(owner, [ownerName: "owner"]).setObjects(members, for: relationship)
      }
    }

    /// The list of the one owner. Its members are not loaded by moving them.
    func list(_ context: ManagedObjectContext) throws -> OrderedToMany<ManagedObject> {
      try context.one(owner)[OrderedToManyKey<ManagedObject>(relationship)]
    }

    func add(_ name: String, to list: OrderedToMany<ManagedObject>, in context: ManagedObjectContext) throws {
      list.append(try context.make(member, [memberName: name]))
    }

    func stored(_ stack: ConformanceStack) throws -> [String] {
      try stack.reopen()
      return try stack.read { try $0.one(owner).labels(of: relationship) }
    }
  }

  private static let tracks = OrderedList("Album", "title", "tracks", "Track", "title")
  private static let band = OrderedList("Band", "name", "members", "Artist", "name")

  /// Two writers start from the list a, b, c, d. The first has saved when the second, with the policy, does.
  private static func race(
    _ stack: ConformanceStack, _ list: OrderedList, _ policy: MergePolicy = .error,
    first: (OrderedToMany<ManagedObject>, ManagedObjectContext) throws -> Void,
    second: (OrderedToMany<ManagedObject>, ManagedObjectContext) throws -> Void
  ) throws {
    try list.fill(stack, ["a", "b", "c", "d"])
    let late = stack.context(policy)
    let owner = try late.performAndWait {
      let owner = try late.one(list.owner)
      try owner.load()
      try expectEqual(owner[OrderedToManyKey<ManagedObject>(list.relationship)].objectIDs.count, 4)
      return owner
    }
    try stack.write { try first(try list.list($0), $0) }
    // A unit of reading of its own: it reads the members in the order that the first writer saved.
    try late.performAndWait {
      try second(owner[OrderedToManyKey<ManagedObject>(list.relationship)], late)
      try late.save()
      try expect(!late.hasChanges, "nothing left to save")
    }
  }

  private static func moveLastToFront(_ list: OrderedToMany<ManagedObject>, _ context: ManagedObjectContext) {
    list.move(from: 3, to: 0)
  }

  private static func moveFirstToEnd(_ list: OrderedToMany<ManagedObject>, _ context: ManagedObjectContext) {
    list.move(from: 0, to: 3)
  }

  private static func conflicts(of what: String, _ list: OrderedList) -> [Case] {
    reports(of: what, list) + merges(of: what, list)
  }

  @CasesBuilder private static func reports(of what: String, _ list: OrderedList) -> [Case] {
    Case("two moves from one base in \(what) are a conflict") { stack in
      try expectThrows(.versionConflict) { try race(stack, list, first: moveLastToFront, second: moveFirstToEnd) }
      try expectEqual(try list.stored(stack), ["d", "a", "b", "c"])
    }
    Case("two moves from one base in \(what) are a conflict also when the members are held") { stack in
      try list.fill(stack, ["a", "b", "c", "d"])
      try stack.read { context in
        let owner = try context.one(list.owner)
        let held = try owner.objects(for: list.relationship)
        for member in held { try member.load() }
        try stack.write { moveLastToFront(try list.list($0), $0) }
        try owner.setObjects(held.reversed(), for: list.relationship)
        try expectThrows(.versionConflict) { try context.save() }
      }
      try expectEqual(try list.stored(stack), ["d", "a", "b", "c"])
    }
    Case("a conflict over \(what) has the three orders") { stack in
      let error = try expectThrows(.versionConflict) {
        try race(stack, list, first: moveLastToFront, second: moveFirstToEnd)
      }
      try expectEqual(error.conflicts.flatMap(\.lists).count, 1)
      let conflict = try unwrap(error.conflicts.flatMap(\.lists).first, "a list in conflict")
      try expectEqual(conflict.relationship.name, list.relationship)
      try stack.read { context in
        func names(_ ids: [ManagedObjectID]?) throws -> [String] {
          try unwrap(ids, "members").map { try context.existingObject(with: $0).label }
        }
        try expectEqual(try names(conflict.ancestor), ["a", "b", "c", "d"])
        try expectEqual(try names(conflict.mine), ["b", "c", "d", "a"])
        try expectEqual(try names(conflict.store), ["d", "a", "b", "c"])
      }
    }
    Case("a move in \(what) and a removal by another writer are a conflict") { stack in
      try expectThrows(.versionConflict) {
        try race(stack, list) { members, _ in
          members.remove(at: 1)
        } second: { members, _ in
          members.move(from: 1, to: 3)
        }
      }
      try expectEqual(try list.stored(stack), ["a", "c", "d"])
    }
    Case("an addition to \(what) and a move by another writer are a conflict") { stack in
      try expectThrows(.versionConflict) {
        try race(stack, list, first: moveLastToFront) { members, context in try list.add("e", to: members, in: context)
        }
      }
      try expectEqual(try list.stored(stack), ["d", "a", "b", "c"])
    }
    Case("a change of \(what) raises the owner's version by one") { stack in
      try list.fill(stack, ["a", "b", "c", "d"])
      try stack.write { context in
        let owner = try context.one(list.owner)
        owner[OrderedToManyKey<ManagedObject>(list.relationship)].move(from: 0, to: 3)
        try context.save()
        try expectEqual(owner.version, 2)
        owner[OrderedToManyKey<ManagedObject>(list.relationship)].move(from: 0, to: 3)
        try context.save()
        try expectEqual(owner.version, 3)
      }
      try expectEqual(try list.stored(stack), ["c", "d", "a", "b"])
    }
    Case("a move in \(what) that met a conflict passes after a refresh with merging") { stack in
      try list.fill(stack, ["a", "b", "c", "d"])
      try stack.read { context in
        let owner = try context.one(list.owner)
        let members = owner[OrderedToManyKey<ManagedObject>(list.relationship)]
        try expectEqual(members.objectIDs.count, 4)
        try stack.write { other in try list.add("e", to: try list.list(other), in: other) }
        moveFirstToEnd(members, context)
        try expectThrows(.versionConflict) { try context.save() }
        context.refresh(owner, mergeChanges: true)
        try context.save()
      }
      try expectEqual(try list.stored(stack), ["b", "c", "d", "a", "e"])
    }
    Case("after a conflict over \(what) the context is as it was") { stack in
      try list.fill(stack, ["a", "b", "c", "d"])
      try stack.read { context in
        let owner = try context.one(list.owner)
        let members = owner[OrderedToManyKey<ManagedObject>(list.relationship)]
        try expectEqual(members.objectIDs.count, 4)
        try stack.write { moveLastToFront(try list.list($0), $0) }
        moveFirstToEnd(members, context)
        for _ in 0..<2 {
          try expectThrows(.versionConflict) { try context.save() }
          try expectEqual(try owner.labels(of: list.relationship), ["b", "c", "d", "a"])
        }
        context.rollback()
        try expectEqual(try owner.labels(of: list.relationship), ["d", "a", "b", "c"])
      }
    }
  }

  @CasesBuilder private static func merges(of what: String, _ list: OrderedList) -> [Case] {
    Case("with the store's win, the first order of \(what) stays") { stack in
      try race(stack, list, .storeTrumps, first: moveLastToFront, second: moveFirstToEnd)
      try expectEqual(try list.stored(stack), ["d", "a", "b", "c"])
    }
    Case("with the store's win, what the second writer adds to \(what) comes last") { stack in
      try race(stack, list, .storeTrumps, first: moveLastToFront) { members, context in
        try list.add("e", to: members, in: context)
        members.move(from: 4, to: 0)
      }
      try expectEqual(try list.stored(stack), ["d", "a", "b", "c", "e"])
    }
    Case("with the store's win, a move in \(what) is kept when only the owner's name was changed") { stack in
      try race(stack, list, .storeTrumps) { members, context in
        try context.one(list.owner).setValue("renamed", for: list.ownerName)
      } second: {
        moveFirstToEnd($0, $1)
      }
      try expectEqual(try list.stored(stack), ["b", "c", "d", "a"])
      try stack.read { try expectEqual(try $0.one(list.owner).label, "renamed") }
    }
    Case("with the object's win, the second order of \(what) is saved") { stack in
      try race(stack, list, .objectTrumps, first: moveLastToFront, second: moveFirstToEnd)
      try expectEqual(try list.stored(stack), ["b", "c", "d", "a"])
    }
    Case("with the object's win, what the first writer added to \(what) comes last") { stack in
      try race(stack, list, .objectTrumps) { members, context in
        try list.add("e", to: members, in: context)
        members.move(from: 4, to: 0)
      } second: {
        moveFirstToEnd($0, $1)
      }
      try expectEqual(try list.stored(stack), ["b", "c", "d", "a", "e"])
    }
    Case("with the object's win, what the first writer removed from \(what) does not come back") { stack in
      try race(stack, list, .objectTrumps) { members, _ in
        members.remove(at: 1)
      } second: {
        moveFirstToEnd($0, $1)
      }
      try expectEqual(try list.stored(stack), ["c", "d", "a"])
    }
    Case("rolling back keeps the first order of \(what)") { stack in
      try race(stack, list, .rollback, first: moveLastToFront, second: moveFirstToEnd)
      try expectEqual(try list.stored(stack), ["d", "a", "b", "c"])
    }
    Case("after a merge of \(what) the context shows the saved values") { stack in
      try list.fill(stack, ["a", "b", "c", "d"])
      let late = stack.context(.objectTrumps)
      try late.performAndWait {
        let owner = try late.one(list.owner)
        let members = owner[OrderedToManyKey<ManagedObject>(list.relationship)]
        try expectEqual(members.objectIDs.count, 4)
        try stack.write { other in try list.add("e", to: try list.list(other), in: other) }
        moveFirstToEnd(members, late)
        try late.save()
        try expectEqual(try owner.labels(of: list.relationship), ["b", "c", "d", "a", "e"])
        members.move(from: 4, to: 0)
        late.mergePolicy = .error
        try late.save()
      }
      try expectEqual(try list.stored(stack), ["e", "b", "c", "d", "a"])
    }
  }

  /// Deleting a member changes the list of an owner that the member knows of.
  @CasesBuilder private static func deletes(of what: String, _ list: OrderedList) -> [Case] {
    Case("a move in \(what) and the delete of a member are a conflict") { stack in
      try expectThrows(.versionConflict) {
        try race(stack, list) { members, context in
          context.delete(members[1])
        } second: {
          moveFirstToEnd($0, $1)
        }
      }
      try expectEqual(try list.stored(stack), ["a", "c", "d"])
    }
    Case("with the object's win, a member of \(what) that the first writer deleted is not put back") { stack in
      try race(stack, list, .objectTrumps) { members, context in
        context.delete(members[1])
      } second: {
        moveFirstToEnd($0, $1)
      }
      try expectEqual(try list.stored(stack), ["c", "d", "a"])
      try stack.read { try expectEqual(try $0.number(of: list.member), 3) }
    }
  }

  @CasesBuilder private static var bothSides: [Case] {
    Case("moves on the two sides of an ordered relationship do not overwrite each other", model: Shelves.model) {
      stack in
      try stack.write { context in
        let books = try ["x", "y"].map { try context.make("Book", ["name": $0]) }
        let shelves = try ["A", "B"].map { try context.make("Shelf", ["name": $0]) }
        for shelf in shelves { try shelf.setObjects(books, for: "books") }
        for book in books { try book.setObjects(shelves, for: "shelves") }
      }
      let interposition = try stack.interpose()
      interposition.beforeSave { _ in
        interposition.beforeSave(nil)
        // Another writer turns the shelves of a book round between the gathering and the writing of the first.
        try stack.write { context in
          let book = try context.one("Book", where: equal("name", "x"))
          try book.setObjects(try book.objects(for: "shelves").reversed(), for: "shelves")
        }
      }
      try stack.write { context in
        let shelf = try context.one("Shelf", where: equal("name", "A"))
        try shelf.setObjects(try shelf.objects(for: "books").reversed(), for: "books")
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.one("Shelf", where: equal("name", "A")).labels(of: "books"), ["y", "x"])
        try expectEqual(try context.one("Shelf", where: equal("name", "B")).labels(of: "books"), ["x", "y"])
        try expectEqual(try context.one("Book", where: equal("name", "x")).labels(of: "shelves"), ["B", "A"])
        try expectEqual(try context.one("Book", where: equal("name", "y")).labels(of: "shelves"), ["A", "B"])
      }
    }
    Case("a member added on one side conflicts with a move on the other", model: Shelves.model) { stack in
      try stack.write { context in
        let shelves = try ["A", "B"].map { try context.make("Shelf", ["name": $0]) }
        try context.make("Book", ["name": "x"]).setObjects(shelves, for: "shelves")
        try context.make("Shelf", ["name": "C"])
      }
      try stack.read { context in
        let book = try context.one("Book")
        let shelves = try book.objects(for: "shelves")
        try stack.write { other in
          try other.one("Shelf", where: equal("name", "C")).setObjects([try other.one("Book")], for: "books")
        }
        try book.setObjects(shelves.reversed(), for: "shelves")
        try expectThrows(.versionConflict) { try context.save() }
      }
      try stack.read { try expectEqual(try $0.one("Book").labels(of: "shelves"), ["A", "B", "C"]) }
    }
  }

  @CasesBuilder private static var followers: [Case] {
    Case("a move is a conflict also after a merge of the other writer's save") { stack in
      let list = tracks
      try list.fill(stack, ["a", "b", "c", "d"])
      let writer = stack.context()
      let follower = stack.context()
      follower.follow(writer)
      let album = try follower.performAndWait { () -> ManagedObjectID in
        let album = try follower.one("Album")
        album[OrderedToManyKey<ManagedObject>("tracks")].move(from: 0, to: 3)
        return album.objectID
      }
      try writer.performAndWait {
        moveLastToFront(try list.list(writer), writer)
        try writer.save()
      }
      try follower.performAndWait {
        _ = try expectThrows(.versionConflict) { try follower.save() }
        follower.refresh(try follower.existingObject(with: album), mergeChanges: true)
        try follower.save()
      }
      try expectEqual(try list.stored(stack), ["b", "c", "d", "a"])
    }
    Case("a move and a merged change of the owner's name are merged") { stack in
      let list = tracks
      try list.fill(stack, ["a", "b", "c", "d"])
      let writer = stack.context()
      let follower = stack.context()
      follower.follow(writer)
      try follower.performAndWait { moveFirstToEnd(try list.list(follower), follower) }
      try writer.performAndWait {
        try writer.one("Album").setValue("renamed", for: "title")
        try writer.save()
      }
      try follower.performAndWait { try follower.save() }
      try expectEqual(try list.stored(stack), ["b", "c", "d", "a"])
      try stack.read { try expectEqual(try $0.one("Album").label, "renamed") }
    }
    Case("a list older than the owner's row is read again before it is moved") { stack in
      try tracks.fill(stack, ["a", "b", "c", "d"])
      let context = stack.context()
      let album = try context.performAndWait {
        let album = try context.one("Album")
        try expectEqual(try album.labels(of: "tracks"), ["a", "b", "c", "d"])
        return album
      }
      let other = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: try stack.anotherCoordinator())
      try other.performAndWait {
        moveLastToFront(try tracks.list(other), other)
        try other.save()
      }
      try context.performAndWait {
        // The fetch brings a newer row of the album, and with it the list is out of date.
        _ = try context.all("Album")
        try expectEqual(try album.labels(of: "tracks"), ["d", "a", "b", "c"])
        album[OrderedToManyKey<ManagedObject>("tracks")].move(from: 0, to: 3)
        try context.save()
      }
      try expectEqual(try tracks.stored(stack), ["a", "b", "c", "d"])
    }
  }

  @CasesBuilder private static var discarded: [Case] {
    Case("a record with a discarded delete keeps its links") { stack in
      try stack.write { context in
        let genres = try ["Jazz", "Rock"].map { try context.make("Genre", ["name": $0]) }
        try context.make("Album", ["title": "A"]).setObjects(genres, for: "genres")
      }
      let late = stack.context(.storeTrumps)
      try late.performAndWait {
        let album = try late.one("Album")
        try album.load()
        try stack.write { try $0.one("Album").setValue(2, for: "year") }
        late.delete(album)
        try late.save()
      }
      try stack.read { try expectEqual(try $0.one("Album").labels(of: "genres"), ["Jazz", "Rock"]) }
    }
    Case("links of a record that another writer deleted are given up with its changes") { stack in
      try stack.write { context in
        try context.make("Album", ["title": "A"])
        try context.make("Genre", ["name": "Jazz"])
      }
      let late = stack.context(.storeTrumps)
      try late.performAndWait {
        let album = try late.one("Album")
        try album.load()
        try stack.write { $0.delete(try $0.one("Album")) }
        try album.setValue(2, for: "year")
        try album.setObjects([try late.one("Genre")], for: "genres")
        try late.save()
      }
      try stack.read { context in
        try expectEqual(try context.number(of: "Album"), 0)
        try expectEqual(try context.one("Genre").labels(of: "albums"), [])
      }
    }
  }
}
