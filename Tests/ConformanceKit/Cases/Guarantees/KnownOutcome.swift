import CoherenceCore

extension ConformanceSubject {
  static let knownOutcome = ConformanceSubject("Known outcome") {
    refusals
    links
    stores
  }

  @CasesBuilder private static var refusals: [Case] {
    Case("a save that fails on validation says that nothing was applied") { stack in
      try stack.read { context in
        try context.make("Album")
        try expectEqual(try expectThrows(.validationFailed) { try context.save() }.outcome, .notApplied)
      }
    }
    Case("a save that fails on uniqueness says that nothing was applied") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      try stack.read { context in
        try context.make("Genre", ["name": "Jazz"])
        try expectEqual(try expectThrows(.uniquenessViolated) { try context.save() }.outcome, .notApplied)
      }
    }
    Case("a save that fails on a version says that nothing was applied") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      try stack.read { context in
        let genre = try context.one("Genre")
        try genre.load()
        try stack.write { try $0.one("Genre").setValue("Pop", for: "name") }
        try genre.setValue("Rock", for: "name")
        try expectEqual(try expectThrows(.versionConflict) { try context.save() }.outcome, .notApplied)
      }
    }
    Case("an insert with the key of a stored record is refused, and the record stays as it is") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      let id = try stack.read { try $0.one("Genre").objectID }
      let reader = try stack.store.makeReader()
      let stored = try unwrap(try reader.row(id.key, of: id.entity))
      reader.finish()
      var values = stored.values
      values[try unwrap(stored.entity.attribute(named: "name")).slot] = .string("Pop")
      let row = Row.make(id: stored.id, entity: stored.entity, version: 1, values: values)
      let error = try expectThrows(oneOf: [.storeCorrupt, .uniquenessViolated]) {
        try stack.store.save(StoreSaveRequest(steps: [.insert(row.entity, [row])]))
      }
      try expectEqual(error.outcome, .notApplied)
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz"]) }
    }
    Case("errors are thrown in the order of validation, versions, uniqueness") { stack in
      try stack.write { context in for name in ["a", "b"] { try context.make("Genre", ["name": name]) } }
      try stack.read { context in
        let genre = try context.one("Genre", where: equal("name", "a"))
        try genre.load()
        try stack.write { try $0.one("Genre", where: equal("name", "a")).setValue("x", for: "name") }
        try genre.setValue("b", for: "name")
        let nameless = try context.make("Genre")
        try expectThrows(.validationFailed) { try context.save() }
        context.delete(nameless)
        try expectThrows(.versionConflict) { try context.save() }
        context.refresh(genre, mergeChanges: true)
        try expectThrows(.uniquenessViolated) { try context.save() }
      }
    }
  }

  @CasesBuilder private static var links: [Case] {
    Case("an outcome that the store does not know is reported as unknown") { stack in
      let interposition = try stack.interpose()
      interposition.afterSave { _ in
        throw CoherenceError(.connectionLost, "The connection broke.", outcome: .unknown)
      }
      try stack.read { context in
        try context.make("Genre", ["name": "Jazz"])
        let error = try expectThrows(.connectionLost) { try context.save() }
        try expectEqual(error.outcome, .unknown)
        try expect(context.hasChanges, "the change to be kept")
      }
    }
    Case("saves after an unknown outcome do not insert the records again that the store has") { stack in
      let interposition = try stack.interpose()
      interposition.afterSave { _ in
        throw CoherenceError(.connectionLost, "The connection broke.", outcome: .unknown)
      }
      try stack.read { context in
        for name in ["a", "b"] { try context.make("Playlist", ["name": name]) }
        try expectEqual(try expectThrows(.connectionLost) { try context.save() }.outcome, .unknown)
        interposition.afterSave(nil)
        for _ in 1...2 {
          let error = try expectThrows(oneOf: [.uniquenessViolated, .storeCorrupt]) { try context.save() }
          try expectEqual(error.outcome, .notApplied)
          try expect(
            error.code == .storeCorrupt || error.message.contains("earlier save"), "a sentence about the earlier save")
        }
        context.rollback()
        try context.make("Playlist", ["name": "c"])
        try context.save()
      }
      try stack.read { try expectEqual(try $0.names("Playlist"), ["a", "b", "c"]) }
    }
    Case("a child's save into its parent after an unknown outcome inserts no record again that the store has") {
      stack in
      let interposition = try stack.interpose()
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      child.savesPastParent = true
      interposition.afterSave { _ in
        throw CoherenceError(.connectionLost, "The connection broke.", outcome: .unknown)
      }
      try child.performAndWait {
        try child.make("Playlist", ["name": "a"])
        try expectEqual(try expectThrows(.connectionLost) { try child.save() }.outcome, .unknown)
        interposition.afterSave(nil)
        child.savesPastParent = false
        try child.save()
      }
      try parent.performAndWait {
        _ = try expectThrows(oneOf: [.uniquenessViolated, .storeCorrupt]) { try parent.save() }
      }
      try stack.read { try expectEqual(try $0.names("Playlist"), ["a"]) }
    }
    Case("a save after an unknown outcome inserts the records that the store does not have") { stack in
      let interposition = try stack.interpose()
      interposition.beforeSave { _ in
        throw CoherenceError(.connectionLost, "The connection broke.", outcome: .unknown)
      }
      try stack.read { context in
        try context.make("Playlist", ["name": "a"])
        try expectEqual(try expectThrows(.connectionLost) { try context.save() }.outcome, .unknown)
        interposition.beforeSave(nil)
        try context.save()
      }
      try stack.read { try expectEqual(try $0.names("Playlist"), ["a"]) }
    }
    Case("a connection lost before the save says that nothing was applied") { stack in
      let interposition = try stack.interpose()
      interposition.beforeSave { _ in throw CoherenceError(.connectionLost, "The connection broke.", isRetryable: true)
      }
      try stack.read { context in
        try context.make("Genre", ["name": "Jazz"])
        let error = try expectThrows(.connectionLost) { try context.save() }
        try expectEqual(error.outcome, .notApplied)
        try expect(error.isRetryable, "an error after which the save may be tried again")
        interposition.beforeSave(nil)
        try context.save()
      }
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz"]) }
    }
    Case("an error of another framework is thrown unchanged or as the underlying error") { stack in
      struct Accident: Error {}
      let interposition = try stack.interpose()
      interposition.beforeSave { _ in throw Accident() }
      try stack.read { context in
        try context.make("Genre", ["name": "Jazz"])
        do {
          try context.save()
        } catch is Accident {
          return
        } catch let error as CoherenceError where error.underlying is Accident {
          return
        }
        throw ConformanceFailure("expected the accident")
      }
    }
    Case("an error of another framework leaves the outcome unknown, for saves and batch requests alike") { stack in
      struct Accident: Error {}
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      let interposition = try stack.interpose()
      interposition.afterSave { _ in throw Accident() }
      try stack.read { context in
        try context.one("Genre").setValue("Pop", for: "name")
        let error = try expectThrows(.inputOutput) { try context.save() }
        try expectEqual(error.outcome, .unknown)
        try expect(error.underlying is Accident, "the accident as the underlying error")
      }
      try stack.read { context in
        let error = try expectThrows(.inputOutput) {
          try context.execute(BatchUpdateRequest(entityName: "Genre", values: ["name": "Rock"]))
        }
        try expectEqual(error.outcome, .unknown)
        try expect(error.underlying is Accident, "the accident as the underlying error")
      }
      interposition.afterSave(nil)
      try stack.read { try expectEqual(try $0.names("Genre"), ["Rock"]) }
    }
  }

  @CasesBuilder private static var stores: [Case] {
    Case("the error of a save over several stores contains the outcome of each") { stack in
      let coordinator = stack.makeCoordinator()
      let interposition = Interposition()
      let sound = try stack.attach(try stack.makeLocation(), to: coordinator)
      let location = try stack.makeLocation()
      let broken = try stack.attach(location, to: coordinator, type: try interposition.type(for: location.type))
      interposition.beforeSave { _ in throw CoherenceError(.storeFull, "The disk is full.") }
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        let genres = try ["a", "b"].map { try context.make("Genre", ["name": $0]) }
        try context.assign(genres[0], to: sound)
        try context.assign(genres[1], to: broken)
        let error = try expectThrows(oneOf: [.partialSave, .storeFull]) { try context.save() }
        try expectEqual(error.outcomes[broken.identifier], .notApplied)
        let isApplied = error.outcomes[sound.identifier] == .applied
        try expectEqual(!genres[0].hasChanges, isApplied, "whether the record is clean")
        try expect(genres[1].hasChanges, "the other to be kept")
        interposition.beforeSave(nil)
        try context.save()
        context.reset()
        try expectEqual(try context.names("Genre"), ["a", "b"])
      }
    }
  }
}
