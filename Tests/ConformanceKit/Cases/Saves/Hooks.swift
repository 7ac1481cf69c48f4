import CoherenceCore

/// The hooks of objects, each at its moment and once.
extension ConformanceSubject {
  static let hooks = ConformanceSubject("Hooks") {
    saves
    deletes
    validations
    children
    hooksOfLoads
    changesByHooks
  }

  /// A journal with a page, saved.
  private static func journal(_ stack: ConformanceStack) throws {
    try stack.write { context in
      let page = try context.make("Page", ["name": "page"])
      try context.make("Journal", ["name": "journal"]).setObjects([page], for: "pages")
    }
  }

  private static func count(_ hook: String, in calls: [String]) -> Int { calls.count { $0.hasPrefix(hook + " ") } }

  @CasesBuilder private static var saves: [Case] {
    Case("the hooks of an insert are called in their order and once", model: Journals.model) { stack in
      try HookLog.recording { log in
        try stack.write { try $0.make("Page", ["name": "a"]) }
        try expectEqual(
          log.take(),
          [
            "awakeFromInsert ", "willSave a", "validate(name) a", "validate(journal) a", "validateForInsert a",
            "didSave a",
          ])
      }
    }
    Case(
      "an update calls its hooks in their order and once, and the rules of changed properties", model: Journals.model
    ) {
      stack in
      try stack.write { try $0.make("Page", ["name": "a"]) }
      try HookLog.recording { log in
        try stack.write { try $0.one("Page").setValue("b", for: "name") }
        try expectEqual(
          log.take(), ["awakeFromFetch a", "willSave b", "validate(name) b", "validateForUpdate b", "didSave b"])
      }
    }
    Case("a save without changes calls no hook", model: Journals.model) { stack in
      try journal(stack)
      try stack.read { context in
        let journal = try context.one("Journal")
        try HookLog.recording { log in
          try journal.setValue("journal", for: "name")
          try context.save()
          try expectEqual(log.take(), [])
        }
      }
    }
    Case("a change in didSave is an unsaved change", model: Journals.model) { stack in
      let change: @Sendable (String, HookedObject) throws -> Void = { hook, object in
        if hook == "didSave", try object.label == "a" { try object.setValue("b", for: "name") }
      }
      try HookLog.recording(act: change) { _ in
        try stack.read { context in
          let page = try context.make("Page", ["name": "a"])
          try context.save()
          try expect(page.isUpdated && context.hasChanges, "an unsaved change")
          try stack.read { try expectEqual(try $0.names("Page"), ["a"]) }
          try context.save()
          try stack.read { try expectEqual(try $0.names("Page"), ["b"]) }
        }
      }
    }
    Case("a change lost in didSave is refused by the next save", model: Journals.model) { stack in
      let lose: @Sendable (String, HookedObject) throws -> Void = { hook, object in
        if hook == "didSave" { object[AttributeKey<Int64>("name")] = 1 }
      }
      try HookLog.recording(act: lose) { _ in
        try stack.read { context in
          try context.make("Page", ["name": "a"])
          try context.save()
          try expectEqual(context.reportedErrors.count, 1, "the reports after the save")
          try expectThrows(.validationFailed) { try context.save() }
          context.rollback()
          try context.save()
        }
      }
    }
    Case("a change lost in a validation hook is refused by the save", model: Journals.model) { stack in
      let lose: @Sendable (String, HookedObject) throws -> Void = { hook, object in
        if hook == "validateForInsert" { object[AttributeKey<Int64>("name")] = 1 }
      }
      try HookLog.recording(act: lose) { _ in
        try stack.read { context in
          try context.make("Page", ["name": "a"])
          try expectThrows(.validationFailed) { try context.save() }
        }
      }
      try stack.read { try expectEqual(try $0.number(of: "Page"), 0) }
    }
    Case("a save that a hook begins is refused, and the outer save passes", model: Journals.model) { stack in
      let hooks = [
        "willSave", "didSave", "validateForInsert", "validateForUpdate", "validateForDelete", "validate(name)",
        "prepareForDeletion", "awakeFromFetch", "willTurnIntoFault", "didTurnIntoFault",
      ]
      for name in hooks {
        let save: @Sendable (String, HookedObject) throws -> Void = { hook, object in
          guard hook == name, let context = object.managedObjectContext else { return }
          do {
            try context.save()
            HookLog.current?.note("saved")
          } catch ErrorCode.illegalState {
            HookLog.current?.note("refused")
          }
        }
        try HookLog.recording(act: save) { log in
          try stack.write { try $0.make("Page", ["name": "a"]) }
          try stack.read { context in
            let page = try context.one("Page")
            context.refresh(page, mergeChanges: false)
            try page.setValue("b", for: "name")
            try context.save()
            context.delete(page)
            try context.save()
          }
          let calls = log.take()
          try expect(calls.contains("refused") && !calls.contains("saved"), "a save in \(name) to be refused")
        }
        try stack.read { try expectEqual(try $0.number(of: "Page"), 0) }
      }
    }
  }

  @CasesBuilder private static var deletes: [Case] {
    Case("the hooks of a cascade see the relationships of the deleted objects", model: Journals.model) { stack in
      try journal(stack)
      let look: @Sendable (String, HookedObject) throws -> Void = { hook, object in
        guard hook == "prepareForDeletion" else { return }
        let isComplete =
          object is HookedPage
          ? try object.object(for: "journal") != nil : try object.objects(for: "pages").count == 1
        HookLog.current?.note(isComplete ? "complete" : "incomplete")
      }
      try HookLog.recording(act: look) { log in
        try stack.read { context in
          context.delete(try context.one("Journal"))
          try context.save()
        }
        let calls = log.take()
        try expectEqual(calls.count { $0 == "complete" }, 2, "the number of complete objects")
        try expect(!calls.contains("incomplete"), "complete relationships")
        for name in ["journal", "page"] {
          for hook in ["prepareForDeletion", "validateForDelete", "didSave"] {
            try expectEqual(calls.count { $0 == "\(hook) \(name)" }, 1, "the calls of \(hook) of the \(name)")
          }
        }
        try expectEqual(count("willSave", in: calls), 0, "the calls of willSave")
      }
    }
    Case("a delete in prepareForDeletion calls the hook once", model: Journals.model) { stack in
      try journal(stack)
      let delete: @Sendable (String, HookedObject) throws -> Void = { hook, object in
        guard hook == "prepareForDeletion", let context = object.managedObjectContext else { return }
        context.delete(object)
        if let journal = try object.entity.name == "Page" ? object.object(for: "journal") : nil {
          context.delete(journal)
        }
      }
      try HookLog.recording(act: delete) { log in
        try stack.write { context in
          let page = try context.one("Page")
          context.delete(page)
          context.delete(page)
        }
        try expectEqual(count("prepareForDeletion", in: log.take()), 2, "the calls for two objects")
      }
      try stack.read { try expectEqual(try $0.number(of: "Journal"), 0) }
    }
    Case("a batch request calls no hook of saves and deletes", model: Journals.model) { stack in
      try journal(stack)
      try HookLog.recording { log in
        try stack.read { context in
          let page = try context.one("Page")
          _ = try context.execute(BatchUpdateRequest(entityName: "Page", values: ["name": "b"]))
          context.refresh(page, mergeChanges: true)
          try expectEqual(try page.label, "b")
          _ = try context.execute(BatchDeleteRequest(entityName: "Page"))
        }
        let calls = log.take()
        for hook in ["willSave", "didSave", "validateForUpdate", "validateForDelete", "prepareForDeletion"] {
          try expectEqual(count(hook, in: calls), 0, "the calls of \(hook)")
        }
      }
    }
  }

  @CasesBuilder private static var validations: [Case] {
    Case("a failed save has the failures of all validation hooks", model: Journals.model) { stack in
      try stack.write { context in
        try context.make("Page", ["name": "a"])
        try context.make("Journal", ["name": "kept"])
      }
      try HookLog.recording { log in
        try stack.read { context in
          try context.make("Page", ["name": "bad"])
          try context.one("Page", where: equal("name", "a")).setValue("bad", for: "name")
          context.delete(try context.one("Journal"))
          let error = try expectThrows(.validationFailed) { try context.save() }
          try expectEqual(error.failures.map(\.propertyName).sorted(), ["", "", "name", "name"])
          try expect(error.failures.allSatisfy { $0.reason == "the name is refused" }, "the texts of the errors")
          try expectEqual(count("didSave", in: log.take()), 0, "the calls of didSave")
        }
      }
      try stack.read { try expectEqual(try $0.names("Journal"), ["kept"]) }
    }
    Case("an object that another deletes in its validation is validated for its delete", model: Journals.model) {
      stack in
      try stack.write { context in for name in ["x", "y"] { try context.make("Page", ["name": name]) } }
      let delete: @Sendable (String, HookedObject) throws -> Void = { hook, object in
        guard hook == "validateForUpdate", let context = object.managedObjectContext else { return }
        if let other = try context.all("Page", where: equal("name", "y")).first { context.delete(other) }
      }
      try HookLog.recording(act: delete) { log in
        try stack.write { try $0.one("Page", where: equal("name", "x")).setValue("x2", for: "name") }
        let calls = log.take()
        for call in ["prepareForDeletion y", "validateForDelete y", "didSave y", "validateForUpdate x2", "didSave x2"] {
          try expectEqual(calls.count { $0 == call }, 1, "the calls \(call)")
        }
      }
      try stack.read { try expectEqual(try $0.names("Page"), ["x2"]) }
    }
    Case("an object that another makes invalid in its validation is refused", model: Journals.model) { stack in
      try renaming(first: "x2", later: "bad", stack) { context in
        let error = try expectThrows(.validationFailed) { try context.save() }
        try expect(error.failures.allSatisfy { $0.reason == "the name is refused" }, "the failures of the first page")
      }
      try stack.read { try expectEqual(try $0.names("Page"), ["x", "y"]) }
    }
    Case("an object that another makes valid in its validation is saved", model: Journals.model) { stack in
      try renaming(first: "bad", later: "x2", stack) { try $0.save() }
      try stack.read { try expectEqual(try $0.names("Page"), ["x2", "y2"]) }
    }
    Case("an object that changes itself in its validation is validated once", model: Journals.model) { stack in
      try stack.write { try $0.make("Page", ["name": "x"]) }
      let change: @Sendable (String, HookedObject) throws -> Void = { hook, object in
        if hook == "validateForUpdate" { try object.setValue("x3", for: "name") }
      }
      try HookLog.recording(act: change) { log in
        try stack.write { try $0.one("Page").setValue("x2", for: "name") }
        try expectEqual(count("validateForUpdate", in: log.take()), 1, "the calls of validateForUpdate")
      }
      try stack.read { try expectEqual(try $0.names("Page"), ["x3"]) }
    }
  }

  /// Renames two pages, of which the second renames the first again in its validation, and calls a block that saves.
  private static func renaming(
    first: String, later: String, _ stack: ConformanceStack, _ save: (ManagedObjectContext) throws -> Void
  ) throws {
    try stack.write { context in for name in ["x", "y"] { try context.make("Page", ["name": name]) } }
    let change: @Sendable (String, HookedObject) throws -> Void = { hook, object in
      guard hook == "validateForUpdate", try object.label == "y2", let context = object.managedObjectContext else {
        return
      }
      try context.all("Page", where: equal("name", first)).first?.setValue(later, for: "name")
    }
    try HookLog.recording(act: change) { _ in
      try stack.read { context in
        try context.one("Page", where: equal("name", "x")).setValue(first, for: "name")
        try context.one("Page", where: equal("name", "y")).setValue("y2", for: "name")
        try save(context)
      }
    }
  }

  @CasesBuilder private static var children: [Case] {
    Case("each level of contexts calls the hooks of its own saves", model: Journals.model) { stack in
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try HookLog.recording { log in
        let page = try child.performAndWait {
          let page = try child.make("Page", ["name": "a"])
          try child.save()
          return page
        }
        var calls = log.take()
        try expectEqual(count("didSave", in: calls), 1, "the calls for the child's save")
        try parent.performAndWait { try parent.save() }
        calls += log.take()
        try expectEqual(count("didSave", in: calls), 2, "the calls for both saves")
        try expectEqual(count("validateForInsert", in: calls), 2, "the validations of both saves")
        try expectEqual(count("awakeFromInsert", in: calls), 1, "the calls of awakeFromInsert")
        try child.performAndWait {
          child.delete(page)
          try child.save()
        }
        try parent.performAndWait { try parent.save() }
        calls = log.take()
        try expectEqual(count("prepareForDeletion", in: calls), 1, "the calls of prepareForDeletion")
        try expectEqual(count("validateForDelete", in: calls), 2, "the validations of the delete")
      }
      try stack.read { try expectEqual(try $0.number(of: "Page"), 0) }
    }
  }
}
