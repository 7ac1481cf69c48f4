import CoherenceCore
import Foundation

/// Changes by objects and observers during the preparation of a save are part of the save, and validated like the rest.
extension ConformanceSubject {
  static let lastChanges = ConformanceSubject("Last changes") {
    inWillSave
    elsewhere
  }

  /// The unsaved draft of a name.
  private static func fresh(_ name: String, in context: ManagedObjectContext) throws -> ManagedObject? {
    try context.insertedObjects.first { try $0.value(for: "name", as: String?.self) == name }
  }

  @CasesBuilder private static var inWillSave: [Case] {
    Case("an object that replaces another in willSave is validated", model: Drafts.model) { stack in
      let replace = Draft.Act { draft, context in
        guard try draft.label == "actor", let victim = try fresh("victim", in: context) else { return }
        context.delete(victim)
        // No name: a draft needs one.
        try context.make("Draft")
      }
      try Draft.$onSave.withValue(replace) {
        try stack.read { context in
          for name in ["actor", "victim"] { try context.make("Draft", ["name": name]) }
          let error = try expectThrows(.validationFailed) { try context.save() }
          try expectEqual(error.failures.map(\.propertyName), ["name"])
          try expectEqual(error.failures.map(\.code), [.missingValue])
        }
      }
      try stack.read { try expectEqual(try $0.number(of: "Draft"), 0) }
    }
    Case("an object inserted in willSave gets its own willSave", model: Drafts.model) { stack in
      let insert = Draft.Act { draft, context in
        let next = ["first": "second", "second": "third"][try draft.label]
        if let next { try context.make("Draft", ["name": next]) }
      }
      try Draft.$onSave.withValue(insert) { try stack.write { try $0.make("Draft", ["name": "first"]) } }
      try stack.read { context in
        let drafts = try context.all("Draft", sort: [SortKey("name")])
        try expectEqual(try drafts.map { try $0.label }, ["first", "second", "third"])
        try expectEqual(try drafts.map { try $0.value(for: "calls", as: Int.self) }, [1, 1, 1])
      }
    }
    Case("a saved object that another changes in willSave gets its own willSave", model: Drafts.model) { stack in
      try stack.write { context in for name in ["a", "b", "c"] { try context.make("Draft", ["name": name]) } }
      let touch = Draft.Act { draft, context in
        let next = ["a2": "b", "b2": "c"][try draft.label]
        guard let next else { return }
        try context.one("Draft", where: equal("name", next)).setValue(next + "2", for: "name")
      }
      try Draft.$onSave.withValue(touch) {
        try stack.write { try $0.one("Draft", where: equal("name", "a")).setValue("a2", for: "name") }
      }
      try stack.read { context in
        let drafts = try context.all("Draft", sort: [SortKey("name")])
        try expectEqual(try drafts.map { try $0.label }, ["a2", "b2", "c2"])
        try expectEqual(try drafts.map { try $0.value(for: "calls", as: Int.self) }, [2, 2, 2])
      }
    }
    Case("an ordered list changed in willSave keeps its order", model: Drafts.model) { stack in
      let replace = Draft.Act { draft, context in
        guard try draft.label == "actor", let victim = try fresh("victim", in: context) else { return }
        context.delete(victim)
        let list = try context.one("DraftList")
        try list.setObjects(try list.objects(for: "drafts").reversed(), for: "drafts")
      }
      try stack.write { context in
        let drafts = try ["1", "2", "3"].map { try context.make("Draft", ["name": $0]) }
        try context.make("DraftList", ["name": "list"]).setObjects(drafts, for: "drafts")
      }
      try Draft.$onSave.withValue(replace) {
        try stack.write { context in for name in ["actor", "victim"] { try context.make("Draft", ["name": name]) } }
      }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.one("DraftList").labels(of: "drafts"), ["3", "2", "1"]) }
    }
    Case("a willSave that inserts objects without end fails the save with a message", model: Drafts.model) { stack in
      let insert = Draft.Act { _, context in try context.make("Draft", ["name": "another"]) }
      try Draft.$onSave.withValue(insert) {
        try stack.read { context in
          try context.make("Draft", ["name": "first"])
          let error = try expectThrows(.validationFailed) { try context.save() }
          try expect(error.message.contains("willSave"), "the message to name willSave")
        }
      }
      try stack.read { try expectEqual(try $0.number(of: "Draft"), 0) }
    }
  }

  @CasesBuilder private static var elsewhere: [Case] {
    Case("invalid values set in a validation fail the save", model: Drafts.model) { stack in
      let spoil = Draft.Act { draft, context in
        guard try draft.label == "z" else { return }
        try fresh("a", in: context)?.setValue(nil, for: "name")
      }
      try Draft.$onValidation.withValue(spoil) {
        try stack.read { context in
          for name in ["a", "z"] { try context.make("Draft", ["name": name]) }
          let error = try expectThrows(.validationFailed) { try context.save() }
          try expectEqual(error.failures.map(\.code), [.missingValue])
        }
      }
      try stack.read { try expectEqual(try $0.number(of: "Draft"), 0) }
    }
    Case("an object that writes a value in each validation is saved", model: Drafts.model) { stack in
      let write = Draft.Act { draft, _ in try draft.setValue("name", for: "name") }
      try Draft.$onValidation.withValue(write) { try stack.write { try $0.make("Draft", ["name": "a"]) } }
      try stack.read { try expectEqual(try $0.names("Draft"), ["name"]) }
    }
    Case("an object that an observer inserts before a save gets its willSave and is validated", model: Drafts.model) {
      stack in
      try stack.read { context in
        try context.make("Draft", ["name": "a"])
        let token = NotificationCenter.default.addObserver(
          forName: .managedObjectContextObjectsDidChange, object: context, queue: nil
        ) { _ in
          do {
            if try fresh("b", in: context) == nil { try context.make("Draft", ["name": "b"]) }
          } catch {
            // The case fails by the missing draft.
          }
        }
        defer { NotificationCenter.default.removeObserver(token) }
        try context.save()
      }
      try stack.read { context in
        let drafts = try context.all("Draft", sort: [SortKey("name")])
        try expectEqual(try drafts.map { try $0.label }, ["a", "b"])
        try expectEqual(try drafts.map { try $0.value(for: "calls", as: Int.self) }, [1, 1])
      }
    }
  }
}
