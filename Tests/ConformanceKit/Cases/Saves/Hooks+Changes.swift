import CoherenceCore

/// Hooks that change objects, and that end the operation which calls them.
extension ConformanceSubject {
  /// Journals with the given names, each with the given pages, saved.
  private static func journals(_ pages: KeyValuePairs<String, [String]>, _ stack: ConformanceStack) throws {
    try stack.write { context in
      for (name, pages) in pages {
        let members = try pages.map { try context.make("Page", ["name": $0]) }
        try context.make("Journal", ["name": name]).setObjects(members, for: "pages")
      }
    }
  }

  @CasesBuilder static var changesByHooks: [Case] {
    Case("the access that loads an object shows the changes of awakeFromFetch", model: Journals.model) { stack in
      try stack.write { try $0.make("Page", ["name": "a"]) }
      let change: @Sendable (String, HookedObject) throws -> Void = { hook, object in
        if hook == "awakeFromFetch", try object.label == "a" { try object.setValue("b", for: "name") }
      }
      try HookLog.recording(act: change) { _ in
        try stack.read { context in
          var request = FetchRequest<ManagedObject>(entityName: "Page")
          request.returnsObjectsAsFaults = true
          let page = try unwrap(try context.fetch(request).first)
          try expectEqual(try page.value(for: "name"), .string("b"), "the value of the first access")
          context.refresh(page, mergeChanges: false)
          try expectEqual(try page.committedValue(for: "name"), .string("a"), "the saved value")
          context.refresh(page, mergeChanges: false)
          try page.setValue("a", for: "name")
          try expectEqual(try page.label, "a", "the assigned value")
        }
      }
    }
    Case("an object that awakeFromFetch changes keeps the change that loaded it", model: Journals.model) { stack in
      try journals(["journal": ["page"]], stack)
      let change: @Sendable (String, HookedObject) throws -> Void = { hook, object in
        if hook == "awakeFromFetch", try object.label == "journal" { try object.setValue("awake", for: "name") }
      }
      try HookLog.recording(act: change) { _ in
        try stack.read { context in
          // Clearing the reference loads the journal, and changes its list.
          try context.one("Page").setObject(nil, for: "journal")
          let journal = try unwrap(context.updatedObjects.first { $0.entity.name == "Journal" })
          try expectEqual(journal.changedValues(), ["name": .string("awake"), "pages": .null])
          try context.save()
          try expect(!context.hasChanges, "a clean context")
        }
      }
      try stack.read { try expectEqual(try $0.names("Journal"), ["awake"]) }
    }
    Case("a reset in awakeFromFetch leaves the other objects asleep", model: Journals.model) { stack in
      try journals(["journal": ["a", "b", "c"]], stack)
      let reset: @Sendable (String, HookedObject) throws -> Void = { hook, object in
        if hook == "awakeFromFetch" { object.managedObjectContext?.reset() }
      }
      try HookLog.recording(act: reset) { log in
        try stack.read { context in
          _ = try context.all("Page", sort: [SortKey("name")])
          let calls = log.take().filter { $0.hasPrefix("awakeFromFetch") }
          try expectEqual(calls, ["awakeFromFetch a"])
        }
      }
    }
    Case("a rollback in prepareForDeletion ends the cascade", model: Journals.model) { stack in
      try journals(["journal": ["a", "b", "c"]], stack)
      let rollBack: @Sendable (String, HookedObject) throws -> Void = { hook, object in
        if hook == "prepareForDeletion", object is HookedPage { object.managedObjectContext?.rollback() }
      }
      try HookLog.recording(act: rollBack) { _ in
        try stack.write { context in context.delete(try context.one("Journal")) }
      }
      try stack.read { context in
        try expectEqual(try context.number(of: "Journal"), 1)
        try expectEqual(try context.one("Journal").objects(for: "pages").count, 3)
      }
    }
    Case("a delete in awakeFromFetch has its delete rules applied", model: Journals.model) { stack in
      try journals(["first": ["a"], "second": ["b"]], stack)
      let delete: @Sendable (String, HookedObject) throws -> Void = { hook, object in
        guard hook == "awakeFromFetch", try object.label == "a", let context = object.managedObjectContext else {
          return
        }
        context.delete(try context.one("Journal", where: equal("name", "second")))
      }
      try HookLog.recording(act: delete) { _ in
        // The delete rules of the first journal load its page.
        try stack.write { context in context.delete(try context.one("Journal", where: equal("name", "first"))) }
      }
      try stack.read { context in
        try expectEqual(try context.number(of: "Journal"), 0)
        try expectEqual(try context.number(of: "Page"), 0)
      }
    }
    Case("prepareForDeletion gets awakened objects from its loads, in a fetch too", model: Journals.model) { stack in
      try journals(["journal": ["a"], "other": []], stack)
      let load: @Sendable (String, HookedObject) throws -> Void = { hook, object in
        guard hook == "prepareForDeletion", object is HookedPage, let context = object.managedObjectContext else {
          return
        }
        let other = try context.one("Journal", where: equal("name", "other"))
        HookLog.current?.note("loaded \(try other.label)")
      }
      try HookLog.recording(act: load) { log in
        try stack.read { context in
          context.delete(try context.one("Journal", where: equal("name", "journal")))
          _ = log.take()
          try expectEqual(try context.number(of: "Page"), 0)
          try expectEqual(try context.names("Page"), [])
          let calls = log.take().filter { $0.hasSuffix(" other") }
          try expectEqual(calls, ["awakeFromFetch other", "loaded other"])
        }
      }
    }
    Case("a list read while awakeFromFetch receives a save of its members is read again", model: Journals.model) {
      stack in
      try journals(["journal": ["a"]], stack)
      let saver = stack.context()
      let context = ManagedObjectContext(concurrencyType: .currentThread, coordinator: stack.coordinator)
      context.follow(saver)
      let add: @Sendable (String, HookedObject) throws -> Void = { hook, object in
        guard hook == "awakeFromFetch", object.managedObjectContext === context, try object.label == "a" else { return }
        try saver.performAndWait {
          try saver.make("Page", ["name": "b"]).setObject(try saver.one("Journal"), for: "journal")
          try saver.save()
        }
        _ = try context.all("Journal")
      }
      try HookLog.recording(act: add) { _ in
        let journal = try context.one("Journal")
        let pages = ToManyKey<HookedPage>("pages")
        _ = Array(journal[pages])
        try expectEqual(Array(journal[pages]).count, 2, "the members after the save")
      }
    }
  }
}
