import CoherenceCore

// Objects deleted, or discarded by a parent, before their first save. No store ever has their records.

extension ConformanceSubject {
  /// References to objects that are deleted before their first save.
  static let neverSavedTargets = ConformanceSubject("Targets that were never saved") {
    neverSavedInOneContext
    neverSavedInParents
  }

  private static func pinned(_ list: ManagedObject) throws -> ManagedObject? { try list.object(for: "pinned") }

  private static func expectNothingPinned(_ stack: ConformanceStack, _ names: [String]) throws {
    try stack.reopen()
    try stack.read { context in
      try expectEqual(try context.names("Playlist", where: equal("pinned", nil)), names)
      try expectEqual(try context.number(of: "Track"), 0)
    }
  }

  @CasesBuilder private static var neverSavedInOneContext: [Case] {
    Case("a reference without an inverse to an object deleted before its first save is cleared") { stack in
      try stack.write { try $0.make("Playlist", ["name": "stored"]) }
      try stack.write { context in
        let lists = [try context.one("Playlist"), try context.make("Playlist", ["name": "inserted"])]
        let track = try context.make("Track", ["title": "1"])
        for list in lists { try list.setObject(track, for: "pinned") }
        context.delete(track)
        try context.save()
        for list in lists { try expect(try pinned(list) == nil, "no target") }
        try expect(!context.hasChanges, "no change after the save")
      }
      try expectNothingPinned(stack, ["inserted", "stored"])
    }
    Case("a fetch after the delete of a never saved object finds no reference to the object") { stack in
      try stack.write { context in
        let list = try context.make("Playlist", ["name": "a"])
        let track = try context.make("Track", ["title": "1"])
        try list.setObject(track, for: "pinned")
        context.delete(track)
        try expectEqual(try context.names("Playlist", where: equal("pinned", nil)), ["a"])
        try expect(try pinned(list) == nil, "no target")
      }
    }
    Case(
      "a reference whose inverse has the delete rule noAction does not outlive a never saved object", model: Rooms.model
    ) {
      stack in
      try stack.write { context in
        let house = try context.make("House", ["name": "h"])
        try house.setObjects([try context.make("Ghost", ["name": "g"])], for: "ghosts")
        context.delete(house)
      }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.names("Ghost", where: equal("house", nil)), ["g"]) }
    }
    Case("a required reference to an object deleted before its first save fails the validation", model: tickets) {
      stack in
      let context = stack.context()
      try context.performAndWait {
        let seat = try context.make("Seat", ["name": "s"])
        let ticket = try context.make("Ticket", ["name": "t"])
        try ticket.setObject(seat, for: "seat")
        context.delete(seat)
        try expectThrows(.validationFailed) { try context.save() }
        try ticket.setObject(try context.make("Seat", ["name": "other"]), for: "seat")
        try context.save()
      }
      try stack.read { try expectEqual(try $0.names("Ticket", where: equal("seat.name", "other")), ["t"]) }
    }
    Case("the undo of the delete of a never saved object restores the references to the object") { stack in
      try stack.write { context in
        let history = UndoHistory()
        context.undoHistory = history
        history.beginGroup(named: "Insert")
        let list = try context.make("Playlist", ["name": "a"])
        let track = try context.make("Track", ["title": "1"])
        try list.setObject(track, for: "pinned")
        history.endGroup()
        history.beginGroup(named: "Delete")
        context.delete(track)
        try expectEqual(try context.number(of: "Playlist", where: equal("pinned", nil)), 1)
        history.endGroup()
        try history.undo()
        try expectEqual(try pinned(list)?.label, "1")
        try context.save()
      }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.names("Playlist", where: equal("pinned.title", "1")), ["a"]) }
    }
  }

  private static let tickets = soundModel {
    Entity("Ticket") {
      Attribute("name", .string)
      Relationship("seat", toOne: "Seat", inverse: nil, optional: false)
    }
    Entity("Seat") { Attribute("name", .string) }
  }

  /// Runs the body in a parent with a playlist and an unsaved track, and a child of the parent.
  private static func belowUnsavedTrack(
    _ stack: ConformanceStack, savesPastParent: Bool = false,
    _ body: (_ parent: ManagedObjectContext, _ child: ManagedObjectContext) throws -> Void
  ) throws {
    try stack.write { try $0.make("Playlist", ["name": "a"]) }
    let parent = stack.context()
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    child.savesPastParent = savesPastParent
    try parent.performAndWait {
      let track = try parent.make("Track", ["title": "1"])
      try withExtendedLifetime(track) { try child.performAndWait { try body(parent, child) } }
    }
  }

  @CasesBuilder private static var neverSavedInParents: [Case] {
    Case("a child's delete of its parent's insert clears the parent's references to the object") { stack in
      try belowUnsavedTrack(stack) { parent, child in
        let list = try parent.one("Playlist")
        try list.setObject(try parent.one("Track"), for: "pinned")
        try list.setObjects([try parent.one("Track")], for: "entries")
        child.delete(try child.one("Track"))
        try child.save()
        try expect(try pinned(list) == nil, "no target")
        try expectEqual(try list.objects(for: "entries").count, 0)
        try parent.save()
      }
      try expectNothingPinned(stack, ["a"])
    }
    Case("a child's reference to an insert that its parent has discarded is cleared by the save into the stores") {
      stack in
      try belowUnsavedTrack(stack) { parent, child in
        let list = try child.one("Playlist")
        try list.setObject(try child.one("Track"), for: "pinned")
        try list.setObjects([try child.one("Track")], for: "entries")
        try list.setValue("b", for: "name")
        parent.delete(try parent.one("Track"))
        try parent.save()
        try child.save()
        try parent.save()
      }
      try expectNothingPinned(stack, ["b"])
      try stack.read { try expectEqual(try $0.one("Playlist").objects(for: "entries").count, 0) }
    }
    Case("a save past the parent refuses a reference to an insert that the parent has discarded until it is cleared") {
      stack in
      try belowUnsavedTrack(stack, savesPastParent: true) { parent, child in
        let list = try child.one("Playlist")
        try list.setObject(try child.one("Track"), for: "pinned")
        parent.rollback()
        let error = try expectThrows(.danglingReference) { try child.save() }
        try expectEqual(error.objectIDs, [list.objectID])
        try list.setObject(nil, for: "pinned")
        try list.setValue("b", for: "name")
        try child.save()
      }
      try expectNothingPinned(stack, ["b"])
    }
    Case("a save past the parent passes in the block after the parent has saved the target") { stack in
      try stack.write { try $0.make("Playlist", ["name": "a"]) }
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      child.savesPastParent = true
      let track = try parent.performAndWait { try parent.make("Track", ["title": "1"]) }
      let list = try child.performAndWait {
        let list = try child.one("Playlist")
        try list.setObject(try child.one("Track"), for: "pinned")
        try expectThrows(.danglingReference) { try child.save() }
        return list
      }
      try parent.performAndWait { try parent.save() }
      try withExtendedLifetime((track, list)) { try child.performAndWait { try child.save() } }
      try stack.read { try expectEqual(try $0.names("Playlist", where: equal("pinned.title", "1")), ["a"]) }
    }
    Case("a reference with an inverse to an insert that the parent has discarded refuses the save until it is cleared")
    {
      stack in
      try stack.write { try $0.make("Track", ["title": "t"]) }
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        let album = try parent.make("Album", ["title": "A"])
        try child.performAndWait {
          let track = try child.one("Track")
          let seen = try child.one("Album")
          try track.setObject(seen, for: "album")
          withExtendedLifetime(album) { parent.rollback() }
          let error = try expectThrows(.objectNotFound) { try child.save() }
          try expectEqual(error.objectIDs, [seen.objectID])
          try track.setObject(nil, for: "album")
          try track.setValue("u", for: "title")
          try child.save()
        }
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.names("Track", where: equal("album", nil)), ["u"]) }
    }
    Case(
      "a required reference to an insert that the parent has discarded refuses the save until it is set", model: tickets
    ) {
      stack in
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        let seat = try parent.make("Seat", ["name": "s"])
        try child.performAndWait {
          try child.make("Ticket", ["name": "t"]).setObject(try child.one("Seat"), for: "seat")
          withExtendedLifetime(seat) { parent.rollback() }
          try child.save()
        }
        let ticket = try parent.one("Ticket")
        let error = try expectThrows(.danglingReference) { try parent.save() }
        try expectEqual(error.objectIDs, [ticket.objectID])
        try ticket.setObject(try parent.make("Seat", ["name": "other"]), for: "seat")
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.names("Ticket", where: equal("seat.name", "other")), ["t"]) }
    }
  }
}
