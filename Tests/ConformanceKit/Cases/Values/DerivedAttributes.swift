import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let derivedAttributes = ConformanceSubject("Derived attributes") {
    derivedBySaves
    derivedInConflicts
    derivedBesideLists
    derivedByBatches
  }

  private static func letter(_ context: ManagedObjectContext) throws -> Letter {
    try unwrap(try context.one("Letter") as? Letter)
  }

  private static func write(_ name: String, _ stack: ConformanceStack) throws {
    try stack.write { try Letter(context: $0).name = name }
  }

  @CasesBuilder private static var derivedBySaves: [Case] {
    Case("a save computes derived values, and fetches find records by them", model: Parcels.model) { stack in
      let start = Date()
      try stack.write { context in
        let letter = try Letter(context: context)
        letter.name = "Él Niño"
        try expectEqual(letter.fold, nil, "the value before the save")
        try context.save()
        try expectEqual(letter.fold, "el nino", "the value after the save")
      }
      try stack.reopen()
      try stack.read { context in
        let letter = try unwrap(try context.one("Letter", where: equal("nameFold", "el nino")) as? Letter)
        try expectEqual(try letter.value(for: "nameBig"), .string("ÉL NIÑO"))
        try expectEqual(try letter.value(for: "nameSmall"), .string("él niño"))
        let savedAt = try unwrap(letter.savedAt)
        try expect(savedAt > start.addingTimeInterval(-1) && savedAt < Date().addingTimeInterval(1), "the present time")
      }
    }
    Case("a changed object shows its derived value after the save", model: Parcels.model) { stack in
      try write("A", stack)
      try stack.read { context in
        let letter = try letter(context)
        letter.name = "B"
        try expectEqual(letter.fold, "a")
        try expectEqual(try context.number(of: "Letter", where: equal("nameFold", "b")), 0, "letters before the save")
        try context.save()
        try expectEqual(letter.fold, "b")
        try expectEqual(try context.number(of: "Letter", where: equal("nameFold", "b")), 1, "letters after the save")
        letter.name = nil
        try context.save()
        try expectEqual(letter.fold, nil)
      }
    }
    Case("a save of another record leaves the time of a save alone", model: Parcels.model) { stack in
      try write("A", stack)
      let before = try stack.read { try letter($0).savedAt }
      try write("B", stack)
      try stack.read { context in
        let letter = try unwrap(try context.one("Letter", where: equal("name", "A")) as? Letter)
        try expectEqual(letter.savedAt, before)
        letter.name = "C"
        try context.save()
        try expect(try unwrap(letter.savedAt) > unwrap(before), "a later time")
      }
    }
    Case("saves, batch requests and claims take the time from the coordinator's clock", model: Parcels.model) { stack in
      func time(of name: String) throws -> TimeInterval? {
        try stack.read { context in
          let letter = try context.one("Letter", where: equal("name", name)) as? Letter
          return letter?.savedAt?.timeIntervalSince1970
        }
      }
      stack.coordinator.clock = { Date(timeIntervalSince1970: 1_000) }
      try write("A", stack)
      try expectEqual(try time(of: "A"), 1_000)
      stack.coordinator.clock = { Date(timeIntervalSince1970: 2_000) }
      try stack.read { _ = try $0.execute(BatchUpdateRequest(entityName: "Letter", values: ["name": "B"])) }
      try expectEqual(try time(of: "B"), 2_000)
      stack.coordinator.clock = { Date(timeIntervalSince1970: 3_000) }
      try stack.read { context in
        let letters = FetchRequest<ManagedObject>(entityName: "Letter")
        try expectEqual(try context.claim(letters, limit: 1, set: ["name": "C"]).count, 1)
      }
      try expectEqual(try time(of: "C"), 3_000)
      stack.coordinator.clock = { Date(timeIntervalSince1970: 4_000) }
      try stack.read { context in
        _ = try context.execute(BatchInsertRequest(entityName: "Letter", rows: [["name": .string("D")]]))
      }
      try expectEqual(try time(of: "D"), 4_000)
      try expectEqual(try time(of: "C"), 3_000)
    }
    Case("saves, batch requests and claims write the author of their context") { stack in
      let model = try ManagedObjectModel {
        Entity("Note", uniqueness: [["name"]]) {
          Attribute("name", .string)
          Attribute("rank", .int32, default: 0)
          Attribute("author", .string, derived: .author)
        }
      }
      try stack.reopen(at: try stack.makeLocation(), model: model)
      func change(by author: String?, _ body: (ManagedObjectContext) throws -> Void) throws {
        let context = stack.context()
        context.transactionAuthor = author
        try context.performAndWait { try body(context) }
      }
      func author(of name: String) throws -> AttributeValue {
        try stack.read { try $0.one("Note", where: equal("name", name)).value(for: "author") }
      }
      try change(by: "ada") { context in
        for name in ["a", "b"] { try context.make("Note", ["name": name]) }
        try context.save()
      }
      try expectEqual(try author(of: "a"), .string("ada"))
      try change(by: "ben") { context in
        try context.one("Note", where: equal("name", "a")).setValue(1, for: "rank")
        try context.save()
      }
      try expectEqual([try author(of: "a"), try author(of: "b")], [.string("ben"), .string("ada")])
      try change(by: "cy") { _ = try $0.execute(BatchUpdateRequest(entityName: "Note", values: ["rank": 2])) }
      try expectEqual([try author(of: "a"), try author(of: "b")], [.string("cy"), .string("cy")])
      try change(by: "di") { context in
        let notes = FetchRequest<ManagedObject>(entityName: "Note").filter(equal("name", "b"))
        try expectEqual(try context.claim(notes, limit: 1, set: ["rank": 3]).count, 1)
        let row = ["name": .string("c")] as [String: AttributeValue]
        _ = try context.execute(BatchInsertRequest(entityName: "Note", rows: [row]))
      }
      try expectEqual([try author(of: "b"), try author(of: "c")], [.string("di"), .string("di")])
      try change(by: nil) { context in
        try context.one("Note", where: equal("name", "c")).setValue(4, for: "rank")
        try context.save()
      }
      try expectEqual(try author(of: "c"), .null)
    }
    Case("a derived value cannot be assigned", model: Parcels.model) { stack in
      try stack.read { context in
        let letter = try Letter(context: context)
        let error = try expectThrows(.invalidValue) { try letter.setValue("x", for: "nameFold") }
        try expect(error.message.contains("'name'"), "the message to name the source: \(error.message)")
        try expectThrows(.invalidValue) {
          try context.execute(BatchUpdateRequest(entityName: "Letter", values: ["savedAt": Date()]))
        }
        letter[Letter.foldKey] = "x"
        try expectThrows(.validationFailed) { try context.save() }
        context.rollback()
      }
    }
    Case("a failed save leaves derived values as they were", model: Parcels.model) { stack in
      try write("A", stack)
      try stack.read { context in
        let letter = try letter(context)
        letter.name = "B"
        try stack.write { try self.letter($0).name = "C" }
        try expectThrows(.versionConflict) { try context.save() }
        try expectEqual(Set(letter.changedValues().keys), ["name"], "the changes")
      }
    }
  }

  @CasesBuilder private static var derivedInConflicts: [Case] {
    Case("derived values fit the values that a merge policy chooses", model: Parcels.model) { stack in
      for (policy, name) in [(MergePolicy.storeTrumps, "theirs"), (.objectTrumps, "A"), (.overwrite, "A")] {
        try stack.reopen(at: try stack.makeLocation())
        try write("a", stack)
        let late = stack.context(policy)
        try late.performAndWait {
          let letter = try letter(late)
          try letter.load()
          try stack.write { try self.letter($0).name = "theirs" }
          // The derived value stays equal, so that this save alone does not change it.
          letter.name = "A"
          try late.save()
        }
        try stack.read { context in
          let letter = try letter(context)
          try expectEqual(letter.name, name)
          try expectEqual(letter.fold, name.lowercased(), "the derived value by \(policy)")
        }
      }
    }
    Case("a save past the parent derives from its own edits", model: Parcels.model) { stack in
      try write("A", stack)
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      child.savesPastParent = true
      try parent.performAndWait {
        try child.performAndWait {
          try letter(parent).name = "Parent"
          try letter(child).setValue(5, for: "weight")
          try child.save()
          try stack.read { other in
            try expectEqual(try letter(other).name, "A")
            try expectEqual(try letter(other).fold, "a")
          }
          try letter(child).name = "Child"
          try child.save()
          try stack.read { try expectEqual(try letter($0).fold, "child") }
        }
      }
    }
    Case("a save into the parent computes nothing, and the parent's save computes derived values", model: Parcels.model)
    {
      stack in
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        try child.performAndWait {
          let letter = try Letter(context: child)
          letter.name = "Child"
          try child.save()
          try expectEqual(letter.fold, nil)
        }
        try parent.save()
        try expectEqual(try letter(parent).fold, "child")
      }
    }
  }

  @CasesBuilder private static var derivedByBatches: [Case] {
    Case("a batch update of a text changes the values derived from it", model: Parcels.model) { stack in
      try write("A", stack)
      let before = try stack.read { try letter($0).savedAt }
      try stack.read { _ = try $0.execute(BatchUpdateRequest(entityName: "Letter", values: ["name": "Ü"])) }
      try stack.read { context in
        try expectEqual(try letter(context).fold, "u")
        try expect(try unwrap(try letter(context).savedAt) > unwrap(before), "a later time")
      }
      try stack.read { _ = try $0.execute(BatchUpdateRequest(entityName: "Letter", values: ["weight": 1])) }
      try stack.read { try expectEqual(try letter($0).fold, "u") }
    }
    Case("a batch update that cannot derive the values of a subentity is refused", model: Parcels.model) { stack in
      try write("A", stack)
      try stack.read { context in
        let error = try expectThrows(.wrongType) {
          try context.execute(BatchUpdateRequest(entityName: "Parcel", values: ["name": "B"]))
        }
        try expect(error.message.contains("Letter"), "the message to name the subentity: \(error.message)")
        try expectEqual(try context.number(of: "Letter", where: equal("name", "A")), 1)
      }
    }
  }
}

// MARK: - Migration

extension ConformanceSubject {
  /// Cases of derived attributes for stores that migrate.
  @CasesBuilder static var derivedMigrations: [Case] {
    Case("a derived attribute that is added gets its values in existing records") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      let model = try base.changed {
        $0.book.insert(Attribute("fold", .string, derived: .canonical("title")), at: 0)
        $0.book.append(Attribute("savedAt", .date, derived: .now))
      }.model
      try stack.reopen(model: model)
      try stack.read { context in
        try expectEqual(try context.names("Book", where: equal("fold", "edda")), ["Edda"])
        try expectEqual(try context.names("Book", where: equal("savedAt", nil)), ["Edda", "Egla"])
        try expectEqual(try context.one("Book", where: equal("fold", "egla")).version, 1)
      }
    }
    Case("another rule of a derived attribute replaces the values of existing records") { stack in
      func model(_ rule: Derivation?) throws -> ManagedObjectModel {
        try base.changed { $0.book.append(Attribute("fold", .string, optional: true, derived: rule)) }.model
      }
      try stack.reopen(at: try stack.makeLocation(), model: try model(nil))
      try stack.write { context in
        try fillLibrary(context)
        try context.one("Book", where: equal("title", "Edda")).setValue("own", for: "fold")
      }
      try stack.reopen(model: try model(.canonical("title")))
      try stack.read {
        try expectEqual(try $0.names("Book", where: among("fold", ["edda", "egla"])), ["Edda", "Egla"])
      }
      try stack.reopen(model: try model(.uppercase("title")))
      try stack.read {
        try expectEqual(try $0.names("Book", where: among("fold", ["EDDA", "EGLA"])), ["Edda", "Egla"])
      }
    }
    Case("records that a program without the derived attribute wrote get its values") { stack in
      let older = try base.model
      let newer = try base.changed { $0.book.append(Attribute("fold", .string, derived: .lowercase("title"))) }.model
      try stack.reopen(at: try stack.makeLocation(), model: newer)
      try stack.write(fillLibrary)
      try stack.reopen(model: older)
      try stack.write { context in
        try context.make("Book", ["title": "Njála"])
        try context.one("Book", where: equal("title", "Edda")).setValue("Snorra-Edda", for: "title")
      }
      try stack.reopen(model: newer)
      try stack.read { context in
        let found = try context.names("Book", where: among("fold", ["njála", "snorra-edda", "egla"]))
        try expectEqual(found, ["Egla", "Njála", "Snorra-Edda"])
      }
    }
  }
}
