import CoherenceCore

/// An ordered list is a value of its owner, with the owner's version.
extension ConformanceSubject {
  static let listConflicts = ConformanceSubject("List conflicts") {
    conflicts(of: "an ordered one-to-many relationship", .tracks)
    conflicts(of: "an ordered many-to-many relationship", .band)
    conflicts(of: "an ordered relationship without inverse", .playlist)
    deletes(of: "an ordered one-to-many relationship", .tracks)
    deletes(of: "an ordered many-to-many relationship", .band)
    listConflictsOnTwoSides
    listConflictsOfFollowers
    listConflictsWithDeletes
  }

  private static func conflicts(of what: String, _ list: OrderedList) -> [Case] {
    reports(of: what, list) + merges(of: what, list)
  }

  @CasesBuilder private static func reports(of what: String, _ list: OrderedList) -> [Case] {
    Case("two moves from one base in \(what) are a conflict") { stack in
      try expectThrows(.versionConflict) { try list.race(stack, first: moveLastToFront, second: moveFirstToEnd) }
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
        try list.race(stack, first: moveLastToFront, second: moveFirstToEnd)
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
        try list.race(stack) { members, _ in
          members.remove(at: 1)
        } second: { members, _ in
          members.move(from: 1, to: 3)
        }
      }
      try expectEqual(try list.stored(stack), ["a", "c", "d"])
    }
    Case("an addition to \(what) and a move by another writer are a conflict") { stack in
      try expectThrows(.versionConflict) {
        try list.race(stack, first: moveLastToFront) { members, context in try list.add("e", to: members, in: context)
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
      try list.race(stack, .storeTrumps, first: moveLastToFront, second: moveFirstToEnd)
      try expectEqual(try list.stored(stack), ["d", "a", "b", "c"])
    }
    Case("with the store's win, what the second writer adds to \(what) comes last") { stack in
      try list.race(stack, .storeTrumps, first: moveLastToFront) { members, context in
        try list.add("e", to: members, in: context)
        members.move(from: 4, to: 0)
      }
      try expectEqual(try list.stored(stack), ["d", "a", "b", "c", "e"])
    }
    Case("with the store's win, a move in \(what) is kept when only the owner's name was changed") { stack in
      try list.race(stack, .storeTrumps) { members, context in
        try context.one(list.owner).setValue("renamed", for: list.ownerName)
      } second: {
        moveFirstToEnd($0, $1)
      }
      try expectEqual(try list.stored(stack), ["b", "c", "d", "a"])
      try stack.read { try expectEqual(try $0.one(list.owner).label, "renamed") }
    }
    Case("with the object's win, the second order of \(what) is saved") { stack in
      try list.race(stack, .objectTrumps, first: moveLastToFront, second: moveFirstToEnd)
      try expectEqual(try list.stored(stack), ["b", "c", "d", "a"])
    }
    Case("with the object's win, what the first writer added to \(what) comes last") { stack in
      try list.race(stack, .objectTrumps) { members, context in
        try list.add("e", to: members, in: context)
        members.move(from: 4, to: 0)
      } second: {
        moveFirstToEnd($0, $1)
      }
      try expectEqual(try list.stored(stack), ["b", "c", "d", "a", "e"])
    }
    Case("with the object's win, what the first writer removed from \(what) does not come back") { stack in
      try list.race(stack, .objectTrumps) { members, _ in
        members.remove(at: 1)
      } second: {
        moveFirstToEnd($0, $1)
      }
      try expectEqual(try list.stored(stack), ["c", "d", "a"])
    }
    Case("rolling back keeps the first order of \(what)") { stack in
      try list.race(stack, .rollback, first: moveLastToFront, second: moveFirstToEnd)
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
        try list.race(stack) { members, context in
          context.delete(members[1])
        } second: {
          moveFirstToEnd($0, $1)
        }
      }
      try expectEqual(try list.stored(stack), ["a", "c", "d"])
    }
    Case("with the object's win, a member of \(what) that the first writer deleted is not put back") { stack in
      try list.race(stack, .objectTrumps) { members, context in
        context.delete(members[1])
      } second: {
        moveFirstToEnd($0, $1)
      }
      try expectEqual(try list.stored(stack), ["c", "d", "a"])
      try stack.read { try expectEqual(try $0.number(of: list.member), 3) }
    }
  }
}
