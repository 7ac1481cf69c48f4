import CoherenceCore

extension ConformanceSubject {
  /// References to deleted records, of to-one relationships without an inverse or with an inverse whose delete rule is
  /// `noAction`: no delete rule clears them, and no store checks them.
  static let danglingReferences = ConformanceSubject("Dangling references") {
    saving
    conditions
    targets
    Case("a reference whose inverse has the delete rule noAction outlives its record", model: Rooms.model) { stack in
      try stack.write { context in
        let house = try context.make("House", ["name": "h"])
        try house.setObjects([try context.make("Ghost", ["name": "g"])], for: "ghosts")
      }
      try stack.write { $0.delete(try $0.one("House")) }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.names("Ghost", where: compare("house", .notEqual, nil)), ["g"])
        let house = try unwrap(try context.one("Ghost").object(for: "house"))
        try expectThrows(.objectNotFound) { try house.value(for: "name", as: String.self) }
      }
    }
    Case("a dangling reference with an inverse is cleared, or given another target", model: Rooms.model) { stack in
      try stack.write { context in
        for name in ["g", "h"] {
          try context.make("House", ["name": "old"]).setObjects(
            [try context.make("Ghost", ["name": name])], for: "ghosts")
        }
        try context.make("House", ["name": "new"])
      }
      try stack.write { for house in try $0.all("House", where: equal("name", "old")) { $0.delete(house) } }
      try stack.reopen()
      try stack.write { context in
        try context.one("Ghost", where: equal("name", "g")).setObject(nil, for: "house")
        try context.one("Ghost", where: equal("name", "h")).setObject(try context.one("House"), for: "house")
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.names("Ghost", where: equal("house", nil)), ["g"])
        try expectEqual(try context.one("House").objects(for: "ghosts").map { try $0.label }, ["h"])
      }
    }
    noAction
    deny
  }

  /// A flat has one lodger at most.
  private static let flats = soundModel {
    Entity("Flat") {
      Attribute("name", .string)
      Relationship("lodgers", toMany: "Lodger", inverse: "flat", maximumCount: 1)
    }
    Entity("Lodger") {
      Attribute("name", .string)
      Relationship("flat", toOne: "Flat", inverse: "lodgers", deleteRule: .noAction)
    }
  }

  @CasesBuilder private static var noAction: [Case] {
    Case("a deleted record with the rule noAction leaves the list of its owner before the save", model: flats) {
      stack in
      try stack.write { context in
        try context.make("Flat", ["name": "f"]).setObjects(
          [try context.make("Lodger", ["name": "former"])], for: "lodgers")
      }
      try stack.write { context in
        let flat = try context.one("Flat")
        try expectEqual(try flat.objects(for: "lodgers").map { try $0.label }, ["former"])
        context.delete(try context.one("Lodger"))
        try expectEqual(try flat.objects(for: "lodgers").map { try $0.label }, [])
        try context.make("Lodger", ["name": "new"]).setObject(flat, for: "flat")
        try context.save()
      }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.one("Flat").objects(for: "lodgers").map { try $0.label }, ["new"]) }
    }
  }

  @CasesBuilder private static var deny: [Case] {
    Case("a rule deny does not count a reference to a deleted record", model: Rooms.model) { stack in
      try stack.write { context in
        let door = try context.make("Door", ["name": "d"])
        try context.make("Sign", ["name": "alone"]).setObject(door, for: "door")
        let framed = try context.make("Sign", ["name": "framed"])
        try framed.setObject(door, for: "door")
        try framed.setObject(try context.make("Frame", ["name": "f"]), for: "frame")
      }
      try stack.write { $0.delete(try $0.one("Door")) }
      try stack.write { $0.delete(try $0.one("Sign", where: equal("name", "alone"))) }
      try stack.write { $0.delete(try $0.one("Frame")) }
      try stack.read { try expectEqual(try $0.number(of: "Sign"), 0) }
    }
  }

  /// Saves three playlists, of which "dangling" refers to a record deleted since, "none" to no record, and "present" to
  /// the track "2".
  ///
  /// - Returns: The identifier of the deleted record.
  @discardableResult
  private static func saveDangling(_ stack: ConformanceStack) throws -> ManagedObjectID {
    let id = try stack.write { context in
      let tracks = try ["1", "2"].map { try context.make("Track", ["title": $0]) }
      try context.make("Playlist", ["name": "dangling"]).setObject(tracks[0], for: "pinned")
      try context.make("Playlist", ["name": "none"])
      try context.make("Playlist", ["name": "present"]).setObject(tracks[1], for: "pinned")
      try context.obtainPermanentIDs(for: tracks)
      return tracks[0].objectID
    }
    try stack.write { context in
      let list = try context.one("Playlist", where: equal("name", "dangling"))
      let track = try context.existingObject(with: id)
      context.delete(track)
      try context.save()
      try expect(!list.hasChanges, "the delete to change no owner")
    }
    return id
  }

  @CasesBuilder private static var saving: [Case] {
    Case("a save may refer to a deleted record by a to-one relationship without an inverse") { stack in
      try stack.write { context in
        try context.make("Playlist", ["name": "x"])
        try context.make("Track", ["title": "1"])
      }
      try stack.read { context in
        let (list, track) = (try context.one("Playlist"), try context.one("Track"))
        try stack.write { $0.delete(try $0.one("Track")) }
        try list.setObject(track, for: "pinned")
        try context.save()
      }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.names("Playlist", where: compare("pinned", .notEqual, nil)), ["x"]) }
    }
    Case("an owner of a dangling reference can be changed, saved and given another target") { stack in
      let id = try saveDangling(stack)
      try stack.write { try $0.one("Playlist", where: refers("pinned", to: id)).setValue("renamed", for: "name") }
      try stack.read { try expectEqual(try $0.names("Playlist", where: refers("pinned", to: id)), ["renamed"]) }
      try stack.write { try $0.one("Playlist", where: equal("name", "renamed")).setObject(nil, for: "pinned") }
      try stack.read { try expectEqual(try $0.number(of: "Playlist", where: equal("pinned", nil)), 2) }
    }
  }

  @CasesBuilder private static var conditions: [Case] {
    Case("in conditions a dangling reference has a value, and the properties of its target have none") { stack in
      let id = try saveDangling(stack)
      try stack.reopen()
      try stack.read { context in
        func names(_ predicate: FetchPredicate) throws -> [String] { try context.names("Playlist", where: predicate) }
        try expectEqual(try names(equal("pinned", nil)), ["none"])
        try expectEqual(try names(compare("pinned", .notEqual, nil)), ["dangling", "present"])
        try expectEqual(try names(refers("pinned", to: id)), ["dangling"])
        try expectEqual(try names(equal("pinned.title", nil)), ["dangling", "none"])
        try expectEqual(try names(compare("pinned.title", .notEqual, nil)), ["present"])
        try expectEqual(try names(equal("pinned.title", "1")), [])
      }
    }
    Case("a condition on the identifier of a target does not find the owner of a target with an unsaved delete") {
      stack in
      try stack.write { context in
        let track = try context.make("Track", ["title": "1"])
        try context.make("Playlist", ["name": "x"]).setObject(track, for: "pinned")
      }
      try stack.read { context in
        let track = try context.one("Track")
        let condition = refers("pinned.self", to: track.objectID)
        try expectEqual(try context.names("Playlist", where: condition), ["x"])
        context.delete(track)
        try expectEqual(try context.names("Playlist", where: condition), [])
        try context.save()
        try expectEqual(try context.names("Playlist", where: condition), [])
      }
    }
    Case("a sort by a property of a missing target treats the property as empty") { stack in
      try saveDangling(stack)
      try stack.reopen()
      try stack.read { context in
        let sort = [SortKey("pinned.title"), SortKey("name")]
        try expectEqual(try context.names("Playlist", sort: sort), ["dangling", "none", "present"])
      }
    }
  }

  private static let shops = soundModel {
    Entity("Window") {
      Attribute("name", .string)
      Relationship("item", toOne: "Item", inverse: nil)
    }
    Entity("Item", isAbstract: true) { Attribute("name", .string) }
    Entity("Book", parent: "Item") { Attribute("pages", .int32, default: 0) }
    Entity("Film", parent: "Item") { Attribute("minutes", .int32, default: 0) }
  }

  @CasesBuilder private static var targets: [Case] {
    Case("the target of a dangling reference is a fault that cannot be loaded") { stack in
      let id = try saveDangling(stack)
      try stack.reopen()
      try stack.read { context in
        let list = try context.one("Playlist", where: equal("name", "dangling"))
        let track = try unwrap(try list.object(for: "pinned"))
        try expect(track.isFault, "a fault")
        try expectEqual(track.objectID, id, "the identifier of the target")
        try expectThrows(.objectNotFound) { try track.value(for: "title", as: String.self) }
        try expectThrows(.objectNotFound) { try context.existingObject(with: track.objectID) }
        try expectEqual(try list.label, "dangling")
      }
    }
    Case("a typed accessor of a missing target returns the default, and the context reports the error") { stack in
      try saveDangling(stack)
      try stack.reopen()
      try stack.read { context in
        let list = try context.one("Playlist", where: equal("name", "dangling"))
        let track = try unwrap(list[ToOneKey<Track>("pinned")])
        try expect(context.reportedErrors.isEmpty, "no error before the values are read")
        try expectEqual(track.title, "")
        try expectEqual(context.reportedErrors.count, 1)
        try list.setValue("renamed", for: "name")
        try context.save()
      }
    }
    Case("a missing target whose entity has subentities cannot be made", model: shops) { stack in
      try stack.write { context in
        let book = try context.make("Book", ["name": "b"])
        try context.make("Window", ["name": "w"]).setObject(book, for: "item")
      }
      try stack.write { $0.delete(try $0.one("Book")) }
      try stack.reopen()
      try stack.read { context in
        let window = try context.one("Window", where: compare("item", .notEqual, nil))
        try expectThrows(.objectNotFound) { try window.object(for: "item") }
        try expect(window[ToOneKey<ManagedObject>("item")] == nil, "no target")
        try expectEqual(context.reportedErrors.count, 1)
        try expectEqual(try window.label, "w")
      }
    }
    Case("prefetching skips missing targets and loads the others") { stack in
      try saveDangling(stack)
      try stack.reopen()
      try stack.read { context in
        var request = FetchRequest<ManagedObject>(entityName: "Playlist")
        request.relationshipsForPrefetching = ["pinned"]
        request.sortKeys = [SortKey("name")]
        let lists = try context.fetch(request)
        let targets = try lists.map { try $0.object(for: "pinned") }
        try expectEqual(targets.map { $0?.isFault }, [true, nil, false])
        try expectEqual(try targets[2]?.label, "2")
      }
    }
  }
}
