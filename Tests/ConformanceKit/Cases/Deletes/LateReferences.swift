import CoherenceCore

extension ConformanceSubject {
  /// Members that a deleted record gets from another writer, or from a parent, after its context has applied the delete
  /// rules.
  static let lateReferences = ConformanceSubject("Late references") {
    ofOtherWriters
    refusals
    ofParents
    deletesIntoParents
  }

  /// Saves the house "old" with a member, and the house "new" without.
  private static func fill(_ stack: ConformanceStack, _ member: String = "Guest") throws {
    try stack.write { context in
      let old = try context.make("House", ["name": "old"])
      try context.make("House", ["name": "new"])
      try context.make(member, ["name": "m"]).setObject(old, for: "house")
    }
  }

  private static func house(_ name: String, in context: ManagedObjectContext) throws -> ManagedObject {
    try context.one("House", where: equal("name", name))
  }

  /// Renames the member of the house "old" and deletes "new". Another context then gives the member to "new".
  private static func deleteLateOwner(
    _ stack: ConformanceStack, _ member: String = "Guest", in context: ManagedObjectContext
  ) throws -> ManagedObject {
    let object = try context.one(member)
    try object.setValue("renamed", for: "name")
    context.delete(try house("new", in: context))
    try context.processPendingChanges()
    try stack.write { try $0.one(member).setObject(try house("new", in: $0), for: "house") }
    return object
  }

  /// The same changes as in ``deleteLateOwner``, in a context that has merged the other context's save before its own.
  private static func merged(_ member: String, _ outcome: ErrorCode?) -> Case {
    Case("a context that has merged a late reference saves as one that has not, \(member)", model: Rooms.model) {
      stack in
      try fill(stack, member)
      let (context, writer) = (stack.context(), stack.context())
      context.follow(writer)
      try context.performAndWait {
        try context.one(member).setValue("renamed", for: "name")
        context.delete(try house("new", in: context))
        try context.processPendingChanges()
      }
      try writer.performAndWait {
        try writer.one(member).setObject(try house("new", in: writer), for: "house")
        try writer.save()
      }
      try context.performAndWait {
        guard let outcome else { return try context.save() }
        _ = try expectThrows(outcome) { try context.save() }
      }
      try stack.read { context in
        let object = try context.one(member)
        try expectEqual(try object.object(for: "house")?.label, outcome == nil ? nil : "new")
        try expectEqual(object.label, outcome == nil ? "renamed" : "m")
        try expectEqual(try context.number(of: "House"), outcome == nil ? 1 : 2)
      }
    }
  }

  private static func nullified(_ name: String, _ policy: MergePolicy) -> Case {
    Case("a rule nullify reaches a changed member that another writer has added, with \(name)", model: Rooms.model) {
      stack in
      try fill(stack)
      let follower = stack.context()
      try stack.read { context in
        context.mergePolicy = policy
        follower.follow(context)
        let seen = try follower.performAndWait { try follower.one("Guest") }
        let guest = try deleteLateOwner(stack, in: context)
        try context.save()
        try expectEqual(try guest.object(for: "house"), nil)
        try follower.performAndWait {
          try expectEqual(try seen.value(for: "house"), .null)
          try expectEqual(try seen.label, "renamed")
        }
      }
      try stack.read { try expectEqual(try $0.one("Guest").value(for: "house"), .null) }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.names("Guest", where: equal("house", nil)), ["renamed"])
        try expectEqual(try context.names("House"), ["old"])
      }
    }
  }

  @CasesBuilder private static var ofOtherWriters: [Case] {
    merged("Guest", nil)
    merged("Room", .danglingReference)
    merged("Tenant", .deleteDenied)
    nullified("objects that win", .objectTrumps)
    nullified("stores that win", .storeTrumps)
    Case(
      "a rule nullify reaches a changed member of an ordered list that another writer has added", model: Venues.model
    ) { stack in
      try stack.write { context in
        let venues = try ["old", "new"].map { try context.make("Venue", ["name": $0]) }
        let seats = try ["a", "b"].map { try context.make("Seat", ["name": $0]) }
        try venues[0].setObjects(seats, for: "seats")
      }
      try stack.read { context in
        context.mergePolicy = .objectTrumps
        let seat = try context.one("Seat", where: equal("name", "b"))
        try seat.setValue("renamed", for: "name")
        context.delete(try context.one("Venue", where: equal("name", "new")))
        try context.processPendingChanges()
        try stack.write { other in
          let seats = try other.all("Seat", sort: [SortKey("name")])
          try other.one("Venue", where: equal("name", "new")).setObjects([seats[1]], for: "seats")
        }
        try context.save()
        try expectEqual(try seat.object(for: "venue"), nil)
      }
      try stack.write { context in
        try expectEqual(try context.names("Seat", where: equal("venue", nil)), ["renamed"])
        let seats = try context.all("Seat", sort: [SortKey("name")])
        try context.one("Venue").setObjects(seats, for: "seats")
      }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.one("Venue").labels(of: "seats"), ["a", "renamed"]) }
    }
  }

  private static func refused(member: String, _ rule: String) -> Case {
    Case("a save with a rule \(rule) for a changed member that another writer has added is refused", model: Rooms.model)
    { stack in
      try fill(stack, member)
      try stack.read { context in
        context.mergePolicy = .objectTrumps
        let object = try deleteLateOwner(stack, member, in: context)
        let error = try expectThrows(.danglingReference) { try context.save() }
        try expect(error.objectIDs.contains(object.objectID), "the error to name the member")
        try expect(object.hasChanges && context.deletedObjects.count == 1, "the context to be as before")
      }
      try stack.read { context in
        try expectEqual(try context.one(member).object(for: "house")?.label, "new")
        try expectEqual(try context.one(member).label, "m")
      }
    }
  }

  @CasesBuilder private static var refusals: [Case] {
    refused(member: "Room", "cascade")
    refused(member: "Tenant", "deny")
  }

  /// Runs the body in a parent and a child of it that applied the delete of the house "new", entered one within the
  /// other. The parent then gives the house its member without a save.
  private static func deleteBelowParent(
    _ stack: ConformanceStack, _ member: String = "Guest",
    _ body: (_ parent: ManagedObjectContext, _ child: ManagedObjectContext) throws -> Void
  ) throws {
    try fill(stack, member)
    try stack.nested { parent, child in
      child.delete(try house("new", in: child))
      try child.processPendingChanges()
      try parent.one(member).setObject(try house("new", in: parent), for: "house")
      try body(parent, child)
    }
  }

  /// Runs the body in a child that saves past its parent, after the parent has moved the guest to the house "new"
  /// without a save. The parent saves the move afterwards.
  private static func saveBelowMove(
    _ stack: ConformanceStack, _ body: (_ child: ManagedObjectContext) throws -> Void
  ) throws {
    try fill(stack)
    let parent = stack.context()
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    child.savesPastParent = true
    try parent.performAndWait {
      try parent.one("Guest").setObject(try house("new", in: parent), for: "house")
      try child.performAndWait { try body(child) }
      // The move is in conflict with the rule, as an edit of any other context is.
      try expectThrows(.versionConflict) { try parent.save() }
      parent.mergePolicy = .objectTrumps
      try parent.save()
    }
    try stack.read { try expectEqual(try $0.one("Guest").object(for: "house")?.label, "new") }
  }

  @CasesBuilder private static var ofParents: [Case] {
    Case("a rule nullify reaches a member that a parent has added without a save", model: Rooms.model) { stack in
      try deleteBelowParent(stack) { parent, child in
        try child.save()
        try expectEqual(try parent.one("Guest").object(for: "house"), nil)
        try parent.save()
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.names("Guest", where: equal("house", nil)), ["m"])
        try expectEqual(try context.names("House"), ["old"])
      }
    }
    Case("a rule nullify reaches a link that a parent has added without a save", model: Rooms.model) { stack in
      try stack.write { context in
        try context.make("House", ["name": "new"])
        try context.make("Street", ["name": "s"])
      }
      try stack.nested { parent, child in
        child.delete(try house("new", in: child))
        try child.processPendingChanges()
        try parent.one("Street").setObjects([try house("new", in: parent)], for: "houses")
        try child.save()
        try expectEqual(try parent.one("Street").labels(of: "houses"), [])
        try parent.save()
      }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.one("Street").labels(of: "houses"), []) }
    }
    Case("a cascade reaches a member that a parent has added without a save", model: Rooms.model) { stack in
      try deleteBelowParent(stack, "Room") { parent, child in
        try child.save()
        try expectEqual(try parent.names("Room"), [])
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.names("Room"), []) }
    }
    Case("a rule deny refuses the save of a parent that has added a member", model: Rooms.model) { stack in
      try deleteBelowParent(stack, "Tenant") { parent, child in
        try child.save()
        try expectThrows(.deleteDenied) { try parent.save() }
        parent.rollback()
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.one("Tenant").object(for: "house")?.label, "old") }
    }
    Case("a save past a parent nullifies the stored member that the parent has moved", model: Rooms.model) { stack in
      try saveBelowMove(stack) { child in
        try child.one("Guest").setValue("renamed", for: "name")
        child.delete(try house("old", in: child))
        try child.save()
        try stack.read { try expectEqual(try $0.names("Guest", where: equal("house", nil)), ["renamed"]) }
      }
    }
    Case("a save past a parent deletes the owner of a stored member that the parent has moved", model: Rooms.model) {
      stack in
      try saveBelowMove(stack) { child in
        child.delete(try house("old", in: child))
        try child.save()
        try stack.read { try expectEqual(try $0.names("Guest", where: equal("house", nil)), ["m"]) }
        try expectEqual(try child.one("Guest").object(for: "house")?.label, "new")
      }
    }
  }
}
