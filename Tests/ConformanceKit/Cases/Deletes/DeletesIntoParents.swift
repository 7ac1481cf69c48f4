import CoherenceCore

extension ConformanceSubject {
  /// A child's deletes of records that its parent has related to others without a save.
  @CasesBuilder static var deletesIntoParents: [Case] {
    Case(
      "a member that a child moves before it deletes the owner stays, although the parent has added a member",
      model: Rooms.model
    ) {
      stack in
      try stack.write { context in
        let house = try context.make("House", ["name": "old"])
        try context.make("House", ["name": "new"])
        try context.make("Room", ["name": "moved"]).setObject(house, for: "house")
      }
      try stack.nested { parent, child in
        try parent.make("Room", ["name": "parent's"]).setObject(try house("old", in: parent), for: "house")
        try child.one("Room", where: equal("name", "moved")).setObject(try house("new", in: child), for: "house")
        child.delete(try house("old", in: child))
        try child.save()
        try expectEqual(try parent.names("Room"), ["moved"])
        try expectEqual(try house("new", in: parent).labels(of: "rooms"), ["moved"])
        try parent.save()
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.one("Room").object(for: "house")?.label, "new")
        try expectEqual(try context.names("House"), ["new"])
      }
    }
    Case(
      "a target that a child replaces before it deletes the owner stays in the parent and in the store",
      model: Rooms.model
    ) {
      stack in
      try stack.nested { parent, child in
        try parent.make("Deed", ["name": "first"]).setObject(try parent.make("House", ["name": "old"]), for: "house")
        let owner = try house("old", in: child)
        try owner.setObject(try child.make("Deed", ["name": "second"]), for: "deed")
        child.delete(owner)
        try child.save()
        try expectEqual(try parent.names("Deed"), ["first"])
        try parent.save()
      }
      try stack.read { context in
        try expectEqual(try context.one("Deed").label, "first")
        try expectEqual(try context.one("Deed").object(for: "house"), nil)
      }
    }
    Case(
      "a child's deletes of its parent's inserts reach a parent with an undo history, and are undone",
      model: Rooms.model
    ) {
      stack in
      let history = UndoHistory()
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        parent.undoHistory = history
        let house = try parent.make("House", ["name": "h"])
        // Its record lies between those of the house and the room. The history reads its houses.
        try parent.make("Street", ["name": "s"]).setObjects([house], for: "houses")
        try parent.make("Room", ["name": "r"]).setObject(house, for: "house")
      }
      try child.performAndWait {
        child.delete(try child.one("Street"))
        child.delete(try child.one("House"))
        try child.save()
      }
      try parent.performAndWait {
        for entity in ["House", "Street", "Room"] { try expectEqual(try parent.names(entity), []) }
        try history.undo()
        for entity in ["House", "Street", "Room"] { try expectEqual(try parent.all(entity).count, 1) }
        try expectEqual(try parent.one("Room").object(for: "house")?.label, "h")
      }
    }
    Case(
      "a child's edit of a record is a conflict as soon as its parent has deleted the owner, before the rules",
      model: Rooms.model
    ) {
      stack in
      try stack.write { context in
        try context.make("Room", ["name": "r"]).setObject(try context.make("House", ["name": "h"]), for: "house")
      }
      try stack.nested { parent, child in
        try child.one("Room").setValue("child's", for: "name")
        parent.delete(try parent.one("House"))
        try expectThrows(.versionConflict) { try child.save() }
        try expect(child.hasChanges, "the child's changes to stay")
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.names("Room"), []) }
    }
  }

  private static func house(_ name: String, in context: ManagedObjectContext) throws -> ManagedObject {
    try context.one("House", where: equal("name", name))
  }
}
