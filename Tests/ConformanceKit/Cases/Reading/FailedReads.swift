import CoherenceCore

extension ConformanceSubject {
  /// Operations that read in several steps, and of which one read fails: a second attempt completes them.
  static let failedReads = ConformanceSubject("Failed reads") {
    failedLoads
    failedDeleteRules
    failedChanges
    failedSteps
  }

  /// Runs a block while one read of the store fails.
  ///
  /// - Parameter number: The number of the failing read in the block; the first is 1.
  /// - Returns: Whether the block threw the error of the read.
  private static func failing(
    read number: Int, of interposition: Interposition, _ body: () throws -> Void
  ) throws -> Bool {
    let count = interposition.fetchCount + number
    interposition.beforeFetch {
      if interposition.fetchCount == count { throw CoherenceError(.inputOutput, "The disk failed.") }
    }
    defer { interposition.beforeFetch(nil) }
    do {
      try body()
      return false
    } catch ErrorCode.inputOutput {
      return true
    }
  }

  // MARK: Loads

  @CasesBuilder private static var failedLoads: [Case] {
    Case("an object whose load has failed is changed and saved after a fetch has loaded it") { stack in
      let interposition = try stack.interpose()
      let id = try stack.write { context in
        let album = try context.make("Album", ["title": "A"])
        try context.obtainPermanentIDs(for: [album])
        return album.objectID
      }
      try stack.write { context in
        let album = try unwrap(context.object(with: id) as? Album)
        _ = try failing(read: 1, of: interposition) { try expectEqual(album.title, "") }
        try expect(album.isUnavailable && !context.reportedErrors.isEmpty, "the failure to be reported")
        try expect(try context.one("Album") === album, "one object of the album")
        try expect(!album.isUnavailable, "a loaded object")
        album.title = "B"
        try context.save()
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["B"]) }
    }
  }

  // MARK: Deletes

  @CasesBuilder private static var failedDeleteRules: [Case] {
    Case("delete rules that a failed read has interrupted are completed by the save", model: houses) { stack in
      let interposition = try stack.interpose()
      let failures = try (1...12).count { try deletesHouse(stack, failingRead: $0, interposition) }
      try expect(failures > 1, "failed reads of the delete rules")
    }
    Case("a deleted member leaves a list although the first read of the list has failed") { stack in
      try stack.write { context in
        for title in ["A", "B"] {
          let tracks = try (1...2).map { try context.make("Track", ["title": "\(title)\($0)"]) }
          try context.make("Album", ["title": title]).setObjects(tracks, for: "tracks")
        }
      }
      let interposition = try stack.interpose()
      try stack.read { context in
        let album = try context.one("Album", where: equal("title", "A"))
        let tracks = try album.objects(for: "tracks")
        // The delete rules of the other album read its tracks.
        context.delete(try context.one("Album", where: equal("title", "B")))
        context.delete(tracks[0])
        let hasFailed = try failing(read: 1, of: interposition) { _ = try album.objects(for: "tracks") }
        try expect(hasFailed, "a failed read of the delete rules")
        try expectEqual(try album.objects(for: "tracks"), [tracks[1]])
      }
    }
    Case("a failed read does not allow a denied delete", model: Rooms.model) { stack in
      try stack.write { context in
        let tenant = try context.make("Tenant", ["name": "t"])
        try context.make("House", ["name": "h"]).setObjects([tenant], for: "tenants")
      }
      let interposition = try stack.interpose()
      let context = stack.context()
      try context.performAndWait {
        context.delete(try context.one("House"))
        try context.processPendingChanges()
      }
      // The block before has released the tenant, so that the validation reads it again.
      try context.performAndWait {
        do {
          let hasFailed = try failing(read: 1, of: interposition) { try context.save() }
          try expect(hasFailed, "no save of a denied delete")
        } catch ErrorCode.deleteDenied {
          // The context still had the row of the tenant.
        }
        try expectThrows(.deleteDenied) { try context.save() }
      }
      try stack.read { try expectEqual(try $0.number(of: "House"), 1) }
    }
  }

  private static let houses = soundModel {
    Entity("House") {
      Attribute("name", .string)
      Relationship("rooms", toMany: "Room", inverse: "house", deleteRule: .cascade)
    }
    Entity("Room") {
      Attribute("name", .string)
      Relationship("house", toOne: "House", inverse: "rooms")
      Relationship("chairs", toMany: "Chair", inverse: "room", deleteRule: .cascade)
    }
    Entity("Chair") {
      Attribute("name", .string)
      Relationship("room", toOne: "Room", inverse: "chairs")
    }
    Entity("Note") {
      Attribute("name", .string)
      Relationship("room", toOne: "Room", inverse: nil)
    }
  }

  /// Deletes a house with a stored room and with a new room, to which a note refers. One read of the delete rules
  /// fails.
  ///
  /// - Returns: Whether the delete rules have thrown the error of the read.
  private static func deletesHouse(
    _ stack: ConformanceStack, failingRead number: Int, _ interposition: Interposition
  ) throws -> Bool {
    try stack.write { context in
      let room = try context.make("Room", ["name": "stored"])
      try room.setObjects([try context.make("Chair", ["name": "c"])], for: "chairs")
      try context.make("House", ["name": "h"]).setObjects([room], for: "rooms")
    }
    let hasFailed = try stack.write { context in
      let house = try context.one("House")
      let room = try context.make("Room", ["name": "new"])
      try room.setObject(house, for: "house")
      try context.make("Note", ["name": "\(number)"]).setObject(room, for: "room")
      context.delete(house)
      return try failing(read: number, of: interposition) { try context.processPendingChanges() }
    }
    try stack.read { context in
      for entity in ["House", "Room", "Chair"] { try expectEqual(try context.number(of: entity), 0, entity) }
      try expectEqual(try context.number(of: "Note", where: equal("room", nil)), number, "notes without a room")
    }
    return hasFailed
  }

  // MARK: Changes of relationships

  @CasesBuilder private static var failedChanges: [Case] {
    Case("a change of a one-to-one relationship with a failed read changes no side, and succeeds afterwards") { stack in
      let interposition = try stack.interpose()
      var failures = 0
      for number in 1...4 {
        let names = ["a", "b", "c", "d"].map { "\($0)\(number)" }
        try stack.write { context in
          let artists = try names.map { try context.make("Artist", ["name": $0]) }
          try artists[0].setObject(artists[1], for: "spouse")
          try artists[2].setObject(artists[3], for: "spouse")
        }
        try stack.write { context in
          let artist = try context.one("Artist", where: equal("name", names[0]))
          let other = try context.one("Artist", where: equal("name", names[2]))
          let hasFailed = try failing(read: number, of: interposition) { try artist.setObject(other, for: "spouse") }
          guard hasFailed else { return }
          failures += 1
          try expect(context.updatedObjects.isEmpty, "no changed side, also of the former partners")
          try artist.setObject(other, for: "spouse")
        }
        let spouses = try stack.read { context in
          try names.map { try context.one("Artist", where: equal("name", $0)).object(for: "spouse")?.label }
        }
        try expectEqual(spouses, [names[2], nil, names[0], nil])
      }
      try expect(failures > 0, "failed reads of the change")
    }
    Case("a replacement of members with a failed read changes no member, and succeeds afterwards") { stack in
      let interposition = try stack.interpose()
      var failures = 0
      for number in 1...6 {
        let titles = ["A\(number)", "B\(number)"]
        try stack.write { context in
          for title in titles {
            let track = try context.make("Track", ["title": title])
            try context.make("Album", ["title": title]).setObjects([track], for: "tracks")
          }
        }
        try stack.write { context in
          let album = try context.one("Album", where: equal("title", titles[0]))
          let track = try context.one("Track", where: equal("title", titles[1]))
          let hasFailed = try failing(read: number, of: interposition) { try album.setObjects([track], for: "tracks") }
          guard hasFailed else { return }
          failures += 1
          try expect(context.updatedObjects.isEmpty, "no changed object")
          try album.setObjects([track], for: "tracks")
        }
        let found = try stack.read { context in
          try titles.map { try context.one("Album", where: equal("title", $0)).labels(of: "tracks") }
        }
        try expectEqual(found, [[titles[1]], []])
      }
      try expect(failures > 0, "failed reads of the replacement")
    }
    Case("a removal of a member with a failed read changes no side, and succeeds afterwards") { stack in
      let interposition = try stack.interpose()
      var failures = 0
      for number in 1...3 {
        let (albumID, genreID) = try stack.write { context in
          let album = try context.make("Album", ["title": "A\(number)"])
          let genre = try context.make("Genre", ["name": "G\(number)"])
          try album.setObjects([genre], for: "genres")
          try context.save()
          return (album.objectID, genre.objectID)
        }
        try stack.write { context in
          let album = try unwrap(context.object(with: albumID) as? Album)
          let genre = try unwrap(context.object(with: genreID) as? Genre)
          _ = try failing(read: number, of: interposition) { album.genres.remove(genre) }
          if album.isUnavailable {
            failures += 1
            try expect(!album.hasChanges && !genre.hasChanges, "no changed side")
            context.refresh(album, mergeChanges: true)
            album.genres.remove(genre)
          }
          try expectEqual(try genre.labels(of: "albums"), [])
        }
        let genres = try stack.read { try $0.one("Album", where: equal("title", "A\(number)")).labels(of: "genres") }
        try expectEqual(genres, [])
      }
      try expect(failures > 0, "failed reads of the removal")
    }
    Case("a refresh without merging takes no stored member from an object, although a read fails") { stack in
      try stack.write { context in
        let albums = try ["A", "B"].map { try context.make("Album", ["title": $0]) }
        try context.make("Artist", ["name": "a"]).setObjects(albums, for: "albums")
      }
      let interposition = try stack.interpose()
      for number in 1...6 {
        try stack.write { context in
          let artist = try context.one("Artist")
          try artist.setObjects([try context.one("Album", where: equal("title", "B"))], for: "albums")
          _ = try failing(read: number, of: interposition) { context.refresh(artist, mergeChanges: false) }
        }
        try stack.read { try expectEqual(try $0.one("Artist").labels(of: "albums"), ["A", "B"]) }
      }
    }
  }

  // MARK: Child contexts and undo

  @CasesBuilder private static var failedSteps: [Case] {
    Case("a child's save into a parent with an undo history changes nothing in the parent when a read fails") { stack in
      try stack.write { context in
        let track = try context.make("Track", ["title": "1"])
        try context.make("Album", ["title": "A"]).setObjects([track], for: "tracks")
      }
      let interposition = try stack.interpose()
      for number in 1...8 {
        let parent = stack.context()
        let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
        try parent.performAndWait {
          parent.undoHistory = UndoHistory()
          try child.performAndWait {
            let album = try child.one("Album")
            let tracks = try album.objects(for: "tracks") + [try child.make("Track", ["title": "2"])]
            try album.setObjects(tracks, for: "tracks")
            if try failing(read: number, of: interposition, { try child.save() }) {
              try expect(!parent.hasChanges && child.hasChanges, "nothing to reach the parent")
              try child.save()
            }
          }
          try expectEqual(try parent.one("Album").labels(of: "tracks"), ["1", "2"])
        }
      }
    }
    Case("a parent's undo of a child's delete restores the members, although reads of the child's save have failed") {
      stack in
      try stack.write { context in
        let tracks = try ["1", "2"].map { try context.make("Track", ["title": $0]) }
        try context.make("Playlist", ["name": "p"]).setObjects(tracks, for: "entries")
      }
      let interposition = try stack.interpose()
      for number in 1...8 {
        let parent = stack.context()
        let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
        let history = UndoHistory()
        try parent.performAndWait {
          parent.undoHistory = history
          try child.performAndWait {
            child.delete(try child.one("Playlist"))
            if try failing(read: number, of: interposition, { try child.save() }) {
              try expect(!parent.hasChanges && child.hasChanges, "nothing to reach the parent")
              try child.save()
            }
          }
          try parent.save()
          try history.undo()
          try expectEqual(try parent.one("Playlist").labels(of: "entries"), ["1", "2"])
          try parent.save()
        }
      }
    }
    Case("a restored record leads to the target of a child's policy on both sides, although a read has failed") {
      stack in
      let interposition = try stack.interpose()
      let otherID = try stack.write { context in
        let album = try context.make("Album", ["title": "A"])
        try album.setObject(try context.make("Artist", ["name": "M"]), for: "artist")
        let other = try context.make("Artist", ["name": "N"])
        try context.obtainPermanentIDs(for: [other])
        return other.objectID
      }
      var failures = 0
      for number in 1...4 {
        let parent = stack.context()
        let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
        try parent.performAndWait {
          try child.performAndWait {
            let album = try child.one("Album")
            let slot = try unwrap(album.entity.relationship(named: "artist")?.slot)
            child.mergePolicy = .custom { conflict in
              guard var values = conflict.mine?.values else { return nil }
              values[slot] = .reference(otherID)
              return values
            }
            try album.setValue("child's", for: "title")
            parent.delete(try parent.one("Album"))
            try parent.processPendingChanges()
            if try failing(read: number, of: interposition, { try child.save() }) {
              failures += 1
              try expect(parent.deletedObjects.count == 1 && child.hasChanges, "nothing to reach the parent")
              try child.save()
            }
          }
          try expectEqual(try parent.one("Album").object(for: "artist")?.label, "N")
          try expectEqual(try parent.one("Artist", where: equal("name", "N")).labels(of: "albums"), ["child's"])
        }
      }
      try expect(failures > 0, "failed reads of the save")
    }
    Case("an undo of a saved delete with a failed read changes nothing, and restores the members afterwards") { stack in
      try stack.write { context in
        let tracks = try ["1", "2"].map { try context.make("Track", ["title": $0]) }
        try context.make("Playlist", ["name": "p"]).setObjects(tracks, for: "entries")
      }
      let interposition = try stack.interpose()
      let context = stack.context()
      try context.performAndWait {
        context.undoHistory = UndoHistory()
        context.delete(try context.one("Playlist"))
        try context.save()
      }
      try context.performAndWait {
        let history = try unwrap(context.undoHistory)
        if try failing(read: 1, of: interposition, { try history.undo() }) {
          try expect(!context.hasChanges && history.canUndo && !history.canRedo, "no change by the undo")
          try history.undo()
        }
        try context.save()
      }
      try stack.read { try expectEqual(try $0.one("Playlist").labels(of: "entries"), ["1", "2"]) }
    }
  }
}
