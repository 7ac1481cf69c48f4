import CoherenceCore

extension ConformanceSubject {
  /// The undo of saved deletes of records to which relationships without an inverse lead. No delete rule changes these
  /// relationships.
  static let undoneDeletes = ConformanceSubject("Undone deletes") {
    Case("the undo of a saved delete gives the record back to unchanged owners without an inverse") { stack in
      try stack.write { try fill($0) }
      try stack.write { try relate($0) }
      try undoDelete(stack) { _ in }
    }
    Case("the undo of a saved delete gives the record back to an owner without an inverse that has an unsaved edit") {
      stack in
      try stack.write { try fill($0) }
      try stack.write { try relate($0) }
      try undoDelete(stack) { try $0.one("Playlist").setValue("renamed", for: "name") }
    }
    Case("a parent's undo of a child's saved delete gives the record back to owners without an inverse") { stack in
      try stack.write { try fill($0) }
      try stack.write { try relate($0) }
      let history = UndoHistory()
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      parent.performAndWait { parent.undoHistory = history }
      try child.performAndWait {
        child.delete(try child.one("Track", where: equal("title", "1")))
        try child.save()
      }
      try parent.performAndWait {
        try parent.save()
        try expectTracks(["2"], in: parent)
        try history.undo()
        try expectRelated(parent)
        try parent.save()
      }
      try stack.read { try expectRelated($0) }
    }
    Case("a child's undo of a saved delete gives the record back to owners that only its parent has related to it") {
      stack in
      try stack.write { try fill($0) }
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        try relate(parent)
        try child.performAndWait {
          let history = UndoHistory()
          child.undoHistory = history
          child.delete(try child.one("Track", where: equal("title", "1")))
          try child.save()
          try history.undo()
          try expectRelated(child)
        }
      }
    }
    undoneInserts
  }

  /// The delete of a trip deletes its place and its sights.
  private static let trips = soundModel {
    Entity("Trip") {
      Attribute("name", .string)
      Relationship("place", toOne: "Place", inverse: "trips", deleteRule: .cascade)
      Relationship("sights", toMany: "Place", inverse: nil, deleteRule: .cascade)
      Relationship("stops", toMany: "Place", inverse: nil, ordered: true, deleteRule: .cascade)
    }
    Entity("Place") {
      Attribute("name", .string)
      Relationship("trips", toMany: "Trip", inverse: "place")
    }
  }

  @CasesBuilder private static var undoneInserts: [Case] {
    Case("the undo of a child's save keeps the records that an inserted record refers to", model: trips) { stack in
      try stack.write { context in for name in ["a", "b", "c"] { try context.make("Place", ["name": name]) } }
      for isSaved in [false, true] {
        let history = UndoHistory()
        let parent = stack.context()
        let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
        parent.performAndWait { parent.undoHistory = history }
        try child.performAndWait {
          let trip = try child.make("Trip", ["name": "t"])
          try trip.setObject(try child.one("Place", where: equal("name", "a")), for: "place")
          try trip.setObjects([try child.one("Place", where: equal("name", "b"))], for: "sights")
          try trip.setObjects([try child.one("Place", where: equal("name", "c"))], for: "stops")
          try child.save()
        }
        try parent.performAndWait {
          if isSaved { try parent.save() }
          try history.undo()
          try expectEqual(try parent.number(of: "Trip"), 0)
          try expectEqual(try parent.names("Place"), ["a", "b", "c"])
          try parent.save()
          try history.redo()
          let trip = try parent.one("Trip")
          try expectEqual(try trip.object(for: "place")?.label, "a")
          try expectEqual(try trip.objects(for: "sights").map { try $0.label }, ["b"])
          try expectEqual(try trip.objects(for: "stops").map { try $0.label }, ["c"])
          try history.undo()
          try parent.save()
        }
      }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.names("Place"), ["a", "b", "c"]) }
    }
  }

  /// Deletes a track after an edit, and undoes, redoes and undoes the delete, each time with a save.
  private static func undoDelete(
    _ stack: ConformanceStack, after edit: (ManagedObjectContext) throws -> Void
  ) throws {
    let history = UndoHistory()
    let context = stack.context()
    context.performAndWait { context.undoHistory = history }
    try context.performAndWait {
      try edit(context)
      context.delete(try context.one("Track", where: equal("title", "1")))
      try context.save()
    }
    try context.performAndWait {
      for _ in 0..<2 {
        try expectTracks(["2"], in: context)
        try history.undo()
        try expectRelated(context)
        try context.save()
        try history.redo()
        try context.save()
      }
      try history.undo()
      try context.save()
    }
    try stack.read { try expectRelated($0) }
  }

  /// Makes a playlist, and the tracks "1" and "2".
  private static func fill(_ context: ManagedObjectContext) throws {
    try context.make("Playlist", ["name": "a"])
    for title in ["1", "2"] { try context.make("Track", ["title": title]) }
  }

  /// Adds the tracks to the playlist, and pins "1".
  private static func relate(_ context: ManagedObjectContext) throws {
    let list = try context.one("Playlist")
    let tracks = try ["1", "2"].map { try context.one("Track", where: equal("title", $0)) }
    try list.setObjects(tracks, for: "entries")
    try list.setObjects(tracks, for: "favourites")
    try list.setObject(tracks[0], for: "pinned")
  }

  private static func expectRelated(_ context: ManagedObjectContext) throws {
    try expectTracks(["1", "2"], in: context)
    let list = try context.one("Playlist")
    try expectEqual(try list.label, "a")
    try expectEqual(try list.object(for: "pinned")?.label, "1")
  }

  private static func expectTracks(_ titles: [String], in context: ManagedObjectContext) throws {
    let list = try context.one("Playlist")
    for name in ["entries", "favourites"] { try expectEqual(try list.labels(of: name), titles) }
  }
}
