import CoherenceCore
import Synchronization

/// Objects and relationships of inserted records with the unique values of stored ones.
extension ConformanceSubject {
  // MARK: Identities

  @CasesBuilder static var joinIdentities: [Case] {
    Case("the object of an inserted record becomes the object of the stored record", model: Labels.model) { stack in
      let id = try store(stack, ["name": "a", "colour": "red"])
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let tag = try context.make("Tag", ["name": "a", "plays": 4])
        let temporary = tag.objectID
        try context.save()
        try expectEqual(tag.objectID, id)
        try expectEqual(tag.version, 2)
        try expectEqual(try tag.value(for: "colour"), .string("red"))
        try expect(context.object(with: temporary) === tag, "the object by its temporary identifier")
        try expect(try context.one("Tag") === tag, "the one object of the record")
        try expect(!tag.isInserted && !tag.hasChanges, "a clean object")
        try tag.setValue("blue", for: "colour")
        try context.save()
      }
      try expectEqual(try tag(stack, ["colour", "plays"]), [.string("blue"), .int(4)])
    }
    Case(
      "a context with an object of the stored record keeps it, and the inserted object leaves the context",
      model: Labels.model
    ) { stack in
      _ = try store(stack, ["name": "a", "colour": "red"])
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let known = try context.one("Tag")
        try known.load()
        let tag = try context.make("Tag", ["name": "a", "plays": 4])
        let note = try context.make("Note", ["name": "n"])
        try note.setObjects([tag], for: "tags")
        try note.setObject(tag, for: "main")
        let temporary = tag.objectID
        try context.save()
        try expect(context.object(with: temporary) === known, "the known object by the temporary identifier")
        try expectEqual(try known.value(for: "plays"), .int(4))
        try expectEqual(try note.objects(for: "tags"), [known])
        try expect(try note.object(for: "main") === known, "the known object as the target")
        try expectEqual(try known.labels(of: "notes"), ["n"])
        try expectEqual(tag.objectID, known.objectID)
        try expectEqual(try tag.value(for: "plays"), .int(4))
        try expect(tag.managedObjectContext == nil && !tag.hasChanges, "the inserted object to have left the context")
        try expectEqual(context.registeredObjects.filter { $0.objectID == known.objectID }.count, 1)
        try expect(!context.hasChanges, "nothing left to save")
      }
    }
    Case("an inserted record joins a stored record that the same save changes", model: Labels.model) { stack in
      _ = try store(stack, ["name": "a", "colour": "red"])
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let known = try context.one("Tag")
        try known.setValue("green", for: "colour")
        try known.setValue(9, for: "plays")
        let tag = try context.make("Tag", ["name": "a", "colour": "blue"])
        try context.save()
        try expectEqual(try known.value(for: "colour"), .string("blue"))
        try expectEqual(try known.value(for: "plays"), .int(9))
        try expectEqual(tag.objectID, known.objectID)
        try expect(!context.hasChanges, "nothing left to save")
      }
      try expectEqual(try tag(stack, ["colour", "plays"]), [.string("blue"), .int(9)])
    }
    Case("a record with a permanent identifier from before its save joins a stored record", model: Labels.model) {
      stack in
      let id = try store(stack, ["name": "a"])
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let tag = try context.make("Tag", ["name": "a", "colour": "blue"])
        try context.make("Note", ["name": "n"]).setObject(tag, for: "main")
        let temporary = tag.objectID
        try context.obtainPermanentIDs(for: [tag])
        let formerIDs = [temporary, tag.objectID]
        try context.save()
        try expectEqual(tag.objectID, id)
        for former in formerIDs {
          try expect(context.object(with: former) === tag, "the object by its former identifier")
          try expectEqual(try context.names("Note", where: refers("main", to: former)), ["n"])
        }
      }
    }
    Case("a save that fails after records were joined leaves the context as it was", model: Labels.model) { stack in
      let interposition = try stack.interpose()
      _ = try store(stack, ["name": "a"])
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let tag = try context.make("Tag", ["name": "a", "colour": "blue"])
        let note = try context.make("Note", ["name": "n"])
        try note.setObjects([tag], for: "tags")
        let temporary = tag.objectID
        let attempts = Mutex(0)
        interposition.beforeSave { _ in
          let attempt = attempts.withLock { attempts in
            attempts += 1
            return attempts
          }
          if attempt > 1 { throw CoherenceError(.storeFull, "The disk is full.") }
        }
        try expectThrows(.storeFull) { try context.save() }
        try expectEqual(tag.objectID, temporary)
        try expect(tag.isInserted && note.isInserted, "the objects to stay inserted")
        try expectEqual(try note.objects(for: "tags"), [tag])
        try expectEqual(try tag.value(for: "plays"), .int(1))
        interposition.beforeSave(nil)
        try context.save()
        try expectEqual(try note.objects(for: "tags"), [tag])
      }
      try stack.read { try expectEqual(try $0.one("Note").objects(for: "tags").count, 1) }
    }
  }

  // MARK: Relationships

  @CasesBuilder static var joinRelationships: [Case] {
    Case("members of an inserted record are added to the stored record's", model: Labels.model) { stack in
      try stack.write { context in
        let tag = try context.make("Tag", ["name": "a"])
        try tag.setObjects([context.make("Note", ["name": "old"])], for: "notes")
      }
      for policy in [MergePolicy.objectTrumps, .storeTrumps, .overwrite] {
        let context = stack.context(policy)
        try context.performAndWait {
          let tag = try context.make("Tag", ["name": "a"])
          let old = try context.one("Note", where: equal("name", "old"))
          try tag.setObjects([context.make("Note", ["name": "new"]), old], for: "notes")
          try context.save()
          try expect(try tag.labels(of: "notes").contains("old"), "the former member")
        }
      }
      try stack.read { try expectEqual(try $0.one("Tag").labels(of: "notes"), ["new", "new", "new", "old"]) }
    }
    Case("a to-one relationship of an inserted record follows the policy", model: Labels.model) { stack in
      try stack.write { context in
        try context.make("Tag", ["name": "a"]).setObject(context.make("Person", ["name": "old"]), for: "owner")
      }
      for (policy, name) in [(MergePolicy.storeTrumps, "old"), (.objectTrumps, "new")] {
        let context = stack.context(policy)
        try context.performAndWait {
          let tag = try context.make("Tag", ["name": "a"])
          let person = try context.make("Person", ["name": "new"])
          try tag.setObject(person, for: "owner")
          try context.save()
          try expectEqual(try tag.object(for: "owner")?.label, name)
          try expectEqual(try person.objects(for: "tags"), name == "new" ? [tag] : [])
        }
      }
    }
    Case("an inserted record without a target keeps the stored target, except by overwriting", model: Labels.model) {
      stack in
      try stack.write { context in
        try context.make("Tag", ["name": "a"]).setObject(context.make("Person", ["name": "old"]), for: "owner")
      }
      for (policy, isKept) in [(MergePolicy.objectTrumps, true), (.overwrite, false)] {
        _ = try insertTag(stack, policy, ["name": "a"])
        try stack.read { try expectEqual(try $0.one("Tag").object(for: "owner") != nil, isKept) }
      }
    }
    Case("both sides of a one-to-one relationship agree after a record was joined", model: Labels.model) { stack in
      for (policy, name) in [(MergePolicy.storeTrumps, "old"), (.objectTrumps, "new")] {
        try stack.write { context in
          try context.make("Tag", ["name": name]).setObject(context.make("Badge", ["name": "old"]), for: "badge")
        }
        let context = stack.context(policy)
        try context.performAndWait {
          let tag = try context.make("Tag", ["name": name])
          try tag.setObject(context.make("Badge", ["name": "new"]), for: "badge")
          try context.save()
          try expectEqual(try tag.object(for: "badge")?.label, name)
        }
        try stack.write { context in
          let tag = try context.one("Tag", where: equal("name", name))
          try expectEqual(try tag.object(for: "badge")?.label, name)
          let badges = try context.all("Badge").filter { try $0.object(for: "tag") === tag }
          try expectEqual(try badges.map { try $0.label }, [name])
          for badge in try context.all("Badge") { context.delete(badge) }
        }
      }
    }
    Case("records that refer to each other join stored records together", model: Labels.model) { stack in
      _ = try store(stack, ["name": "a"])
      _ = try store(stack, ["name": "b"])
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let tags = try ["a", "b", "c"].map { try context.make("Tag", ["name": $0]) }
        let note = try context.make("Note", ["name": "n"])
        try note.setObjects(tags, for: "tags")
        try context.save()
        try expectEqual(try note.labels(of: "tags"), ["A", "B", "C"])
      }
      try stack.read { context in
        try expectEqual(try context.one("Note").labels(of: "tags"), ["A", "B", "C"])
        try expectEqual(try context.number(of: "Tag"), 3)
      }
    }
  }

  @CasesBuilder static var joinPositions: [Case] {
    Case("a list with an inserted record and the stored record has the record once", model: Labels.model) { stack in
      _ = try store(stack, ["name": "a"])
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let note = try context.make("Note", ["name": "n"])
        let (stored, other) = (try context.one("Tag"), try context.make("Tag", ["name": "b"]))
        try note.setObjects([stored, other], for: "list")
        try note.setObjects([stored], for: "tags")
        try context.save()
        let tag = try context.make("Tag", ["name": "a"])
        for name in ["list", "tags"] { try note.setObjects(note.objects(for: name) + [tag], for: name) }
        try context.save()
        try expectEqual(try note.objects(for: "list"), [other, stored])
        try expectEqual(try note.objects(for: "tags"), [stored])
      }
      try stack.read { context in
        try expectEqual(try context.one("Note").labels(of: "list"), ["B", "A"])
        try expectEqual(try context.one("Note").labels(of: "tags"), ["A"])
      }
    }
    Case("ordered members of an inserted record come behind the stored record's", model: Labels.model) { stack in
      try stack.write { context in
        let tag = try context.make("Tag", ["name": "a"])
        try tag.setObjects(["1", "2"].map { try context.make("Step", ["name": $0]) }, for: "steps")
      }
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let tag = try context.make("Tag", ["name": "a"])
        try tag.setObjects(["3", "4"].map { try context.make("Step", ["name": $0]) }, for: "steps")
        try context.save()
        try expectEqual(try tag.labels(of: "steps"), ["1", "2", "3", "4"])
      }
      try stack.read { try expectEqual(try $0.one("Tag").labels(of: "steps"), ["1", "2", "3", "4"]) }
    }
    Case("ordered members of two inserted records with one unique value follow each other", model: Labels.model) {
      stack in
      try stack.write { try $0.make("Tag", ["name": "b"]) }
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        for name in ["a", "b"] {
          for steps in [["1", "2"], ["3"]] {
            let tag = try context.make("Tag", ["name": name])
            try tag.setObjects(steps.map { try context.make("Step", ["name": $0]) }, for: "steps")
          }
        }
        try context.save()
      }
      try stack.read { context in
        for name in ["a", "b"] {
          try expectEqual(try context.one("Tag", where: equal("name", name)).labels(of: "steps"), ["1", "2", "3"])
        }
      }
    }
  }

  // MARK: Races

  @CasesBuilder static var joinRaces: [Case] {
    Case(
      "a stored record that is deleted before it is joined leaves the inserted record to be saved", model: Labels.model
    ) { stack in
      let interposition = try stack.interpose()
      _ = try store(stack, ["name": "a", "colour": "red"])
      for policy in [MergePolicy.objectTrumps, .storeTrumps] {
        let attempts = Mutex(0)
        interposition.beforeSave { request in
          guard request.inserts("Note") else { return }
          let attempt = attempts.withLock { attempts in
            attempts += 1
            return attempts
          }
          // The second attempt has the stored record's identifier by now.
          if attempt == 2 { try stack.write { $0.delete(try $0.one("Tag")) } }
        }
        let context = stack.context(policy)
        try context.performAndWait {
          let tag = try context.make("Tag", ["name": "a", "colour": "blue"])
          let note = try context.make("Note", ["name": "n"])
          try note.setObjects([tag], for: "tags")
          try context.make("Step", ["name": "s"]).setObject(tag, for: "tag")
          try context.save()
          interposition.beforeSave(nil)
          try expectEqual(try note.objects(for: "tags"), [tag])
          try expectEqual(try tag.labels(of: "steps"), ["s"])
        }
        try expectEqual(try self.tag(stack, ["colour"]), [.string("blue")])
        try stack.write { context in
          for object in try context.all("Note") + context.all("Step") { context.delete(object) }
        }
      }
    }
    Case("a stored record that changes before it is joined keeps the later change", model: Labels.model) { stack in
      let interposition = try stack.interpose()
      _ = try store(stack, ["name": "a"])
      let attempts = Mutex(0)
      interposition.beforeSave { _ in
        let attempt = attempts.withLock { attempts in
          attempts += 1
          return attempts
        }
        if attempt == 2 { try stack.write { try $0.one("Tag").setValue(8, for: "rating") } }
      }
      try expectEqual(
        try insertTag(stack, .objectTrumps, ["name": "a", "colour": "blue"]), stack.read { try $0.one("Tag").objectID })
      try expectEqual(try tag(stack, ["colour", "rating"]), [.string("blue"), .int(8)])
    }
    Case("a stored record that gets another unique value before it is joined is not joined", model: Labels.model) {
      stack in
      let interposition = try stack.interpose()
      let id = try store(stack, ["name": "a", "colour": "red"])
      let attempts = Mutex(0)
      interposition.beforeSave { _ in
        let attempt = attempts.withLock { attempts in
          attempts += 1
          return attempts
        }
        if attempt == 2 { try stack.write { try $0.one("Tag").setValue("b", for: "name") } }
      }
      let inserted = try insertTag(stack, .objectTrumps, ["name": "a", "colour": "blue"])
      try expect(inserted != id, "a record of its own")
      let colours: [AttributeValue] = try stack.read { context in
        try context.all("Tag", sort: [SortKey("name")]).map { try $0.value(for: "colour") }
      }
      try expectEqual(colours, [.string("blue"), .string("red")])
    }
    Case("a unique value that another writer inserts during a save is joined", model: Labels.model) { stack in
      let interposition = try stack.interpose()
      let attempts = Mutex(0)
      interposition.beforeSave { _ in
        let attempt = attempts.withLock { attempts in
          attempts += 1
          return attempts
        }
        guard attempt == 1 else { return }
        try stack.write { try $0.make("Tag", ["name": "a", "rating": 9]) }
      }
      _ = try insertTag(stack, .objectTrumps, ["name": "a", "colour": "blue"])
      try expectEqual(try tag(stack, ["colour", "rating"]), [.string("blue"), .int(9)])
    }
    Case("eight writers that insert one unique value at once make one record", model: Labels.model) { stack in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for writer in 0..<8 {
          group.addTask {
            let context = stack.context(.byProperty([.rule("plays", of: "Tag", .sum)], otherwise: .objectTrumps))
            try await context.perform {
              for name in ["a", "b"] { try context.make("Tag", ["name": name, "plays": writer]) }
              try context.save()
            }
          }
        }
        try await group.waitForAll()
      }
      try stack.read { context in
        for name in ["a", "b"] {
          try expectEqual(try context.one("Tag", where: equal("name", name)).value(for: "plays"), .int(28))
        }
      }
    }
  }

  // MARK: Costs

  @CasesBuilder static var joinCosts: [Case] {
    Case("a save reads nothing for its constraints before the store has refused it", model: Labels.model) { stack in
      let interposition = try stack.interpose()
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let tag = try context.make("Tag", ["name": "a"])
        try context.save()
        try tag.setValue("b", for: "name")
        try context.save()
        try expectEqual([interposition.saveCount, interposition.fetchCount], [2, 0])
        try context.make("Tag", ["name": "b", "colour": "blue"])
        try context.save()
        try expectEqual(interposition.saveCount, 4, "the number of saves")
        let fetches = interposition.fetchCount
        context.mergePolicy = .error
        try context.make("Tag", ["name": "b"])
        try expectThrows(.uniquenessViolated) { try context.save() }
        try expectEqual([interposition.saveCount, interposition.fetchCount], [5, fetches])
      }
    }
  }
}

extension StoreSaveRequest {
  /// Whether the request inserts records of an entity.
  fileprivate func inserts(_ name: String) -> Bool {
    steps.contains { step in
      if case .insert(let entity, _) = step { entity.name == name } else { false }
    }
  }
}
