import CoherenceCore

extension ConformanceSubject {
  static let snapshotRead = ConformanceSubject("Snapshot read") {
    Case("fetches in a snapshot see one state while others save") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      try stack.read { context in
        try context.withSnapshot {
          try expectEqual(try context.number(of: "Genre"), 1)
          try stack.write { try $0.make("Genre", ["name": "Pop"]) }
          try expectEqual(try context.names("Genre"), ["Jazz"])
          try expectEqual(try context.number(of: "Genre"), 1)
        }
        try expectEqual(try context.names("Genre"), ["Jazz", "Pop"])
      }
    }
    Case("a snapshot shows records as they were, and relationships too") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        try context.withSnapshot {
          try expectEqual(try context.number(of: "Album"), 8)
          try stack.write { other in
            let album = try other.one("Album", where: equal("title", "Debut"))
            try album.setValue(2000, for: "year")
            try album.setObject(nil, for: "artist")
            try album.setObjects([], for: "genres")
            other.delete(try other.one("Album", where: equal("title", "Arrival")))
          }
          let album = try context.one("Album", where: .and([equal("year", 1993), compare("artist", .notEqual, nil)]))
          try expectEqual(try album.labels(of: "genres"), ["Pop"])
          try expectEqual(try album.object(for: "artist")?.label, "Bj\u{F6}rk")
          try expectEqual(try album.labels(of: "tracks"), ["Human Behaviour", "Crying"])
          try expectEqual(try context.number(of: "Album"), 8)
        }
      }
      try stack.read { try expectEqual(try $0.number(of: "Album"), 7) }
    }
    Case("a fetch takes no newer state of a record that others hold") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title, "year": 4]) } }
      let keeper = stack.context()
      try stack.read { context in
        // From here on the unit of work reads this state.
        try expectEqual(try context.number(of: "Album"), 2)
        try stack.write { other in for album in try other.all("Album") { try album.setValue(5, for: "year") } }
        let kept = try keeper.performAndWait {
          let album = try keeper.one("Album", where: equal("title", "B"))
          try expectEqual(try album.value(for: "year", as: Int.self), 5)
          return album
        }
        let years = try context.all("Album").map { try $0.value(for: "year", as: Int.self) }
        withExtendedLifetime(kept) {}
        try expect(years == [4, 4] || years == [5, 5], "years of one moment, found \(years)")
      }
    }
    Case("a read after a save of one's own sees the save") { stack in
      try stack.read { context in
        try expectEqual(try context.number(of: "Genre"), 0)
        try context.make("Genre", ["name": "Jazz"])
        try context.save()
        try expectEqual(try context.number(of: "Genre"), 1)
        try stack.read { try expectEqual(try $0.number(of: "Genre"), 1) }
      }
    }
    Case("a later unit of work sees what others saved") { stack in
      let context = stack.context()
      try context.performAndWait { try expectEqual(try context.number(of: "Genre"), 0) }
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      try context.performAndWait { try expectEqual(try context.number(of: "Genre"), 1) }
    }
    Case("a thrown error ends a snapshot") { stack in
      struct Stop: Error {}
      try stack.read { context in
        do {
          try context.withSnapshot {
            try expectEqual(try context.number(of: "Genre"), 0)
            throw Stop()
          }
        } catch is Stop {}
        try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
        try context.withSnapshot { try expectEqual(try context.number(of: "Genre"), 1) }
      }
    }
    Case("several snapshots are open at once") { stack in
      let contexts = (0..<5).map { _ in stack.context() }
      func open(_ index: Int) throws {
        guard index < contexts.count else { return }
        let context = contexts[index]
        try context.performAndWait {
          try context.withSnapshot {
            try expectEqual(try context.number(of: "Genre"), index)
            try stack.write { try $0.make("Genre", ["name": "\(index)"]) }
            try open(index + 1)
            try expectEqual(try context.number(of: "Genre"), index)
          }
        }
      }
      try open(0)
      try stack.read { try expectEqual(try $0.number(of: "Genre"), 5) }
    }
  }
}
