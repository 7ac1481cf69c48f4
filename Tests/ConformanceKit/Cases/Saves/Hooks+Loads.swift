import CoherenceCore

/// The hooks of objects that get or lose their values.
extension ConformanceSubject {
  @CasesBuilder static var hooksOfLoads: [Case] {
    Case("an object is awakened once for each load", model: Journals.model) { stack in
      try stack.write { try $0.make("Page", ["name": "a"]) }
      try HookLog.recording { log in
        try stack.read { context in
          let page = try context.one("Page")
          try expectEqual(log.take(), ["awakeFromFetch a"])
          try expect(try context.one("Page") === page, "the same object")
          try expectEqual(log.take(), [], "the calls of a second fetch")
          context.refresh(page, mergeChanges: true)
          try expectEqual(log.take(), ["willTurnIntoFault a", "didTurnIntoFault a"])
          try expectEqual(try page.label, "a")
          try expectEqual(log.take(), ["awakeFromFetch a"])
        }
      }
    }
    Case("faults are awakened when an access loads their group", model: Journals.model) { stack in
      try stack.write { context in for name in ["a", "b", "c"] { try context.make("Page", ["name": name]) } }
      try HookLog.recording { log in
        try stack.read { context in
          var request = FetchRequest<ManagedObject>(entityName: "Page")
          request.returnsObjectsAsFaults = true
          let pages = try context.fetch(request)
          try expectEqual(log.take(), [], "the calls before an access")
          for page in pages { try page.load() }
          try expectEqual(log.take().sorted(), ["awakeFromFetch a", "awakeFromFetch b", "awakeFromFetch c"])
        }
      }
    }
    Case("awakeFromFetch may read relationships, and the fetch keeps its order", model: Journals.model) { stack in
      let names = (100..<700).map { "page \($0)" }
      try stack.write { context in
        let journal = try context.make("Journal", ["name": "journal"])
        try journal.setObjects(try names.map { try context.make("Page", ["name": $0]) }, for: "pages")
      }
      let read: @Sendable (String, HookedObject) throws -> Void = { hook, object in
        guard hook == "awakeFromFetch", object is HookedPage else { return }
        try expectEqual(try object.object(for: "journal")?.objects(for: "pages").count, 600)
        HookLog.current?.note("read")
      }
      try HookLog.recording(act: read) { log in
        try stack.read { context in
          try expectEqual(try context.names("Page", sort: [SortKey("name")]), names)
        }
        let calls = log.take()
        try expectEqual(calls.count { $0 == "read" }, 600, "the pages that read their journal")
        // The journal stays a fault: its list is read without its row.
        try expectEqual(Set(calls).count, 601, "the calls, one for each page, and the reads")
        try expectEqual(calls.count, 1200, "the number of calls")
      }
    }
    Case("a rollback and a reset call the hooks of saved objects", model: Journals.model) { stack in
      try stack.write { context in for name in ["a", "z"] { try context.make("Page", ["name": name]) } }
      try HookLog.recording { log in
        try stack.read { context in
          let pages = try context.all("Page", sort: [SortKey("name")])
          try pages[0].setValue("b", for: "name")
          try context.make("Page", ["name": "new"])
          _ = log.take()
          context.rollback()
          try expectEqual(log.take(), ["willTurnIntoFault b", "didTurnIntoFault b"], "the calls of a rollback")
          try expectEqual(try pages[0].label, "a")
          _ = log.take()
          // An optimized build releases the pages after their last use, and a released object has no hooks to call.
          withExtendedLifetime(pages) { context.reset() }
          let expected = ["didTurnIntoFault a", "didTurnIntoFault z", "willTurnIntoFault a", "willTurnIntoFault z"]
          try expectEqual(log.take().sorted(), expected, "the calls of a reset")
        }
      }
    }
    Case("refreshAll calls the hooks of unchanged objects", model: Journals.model) { stack in
      try stack.write { context in for name in ["a", "z"] { try context.make("Page", ["name": name]) } }
      try HookLog.recording { log in
        try stack.read { context in
          let pages = try context.all("Page", sort: [SortKey("name")])
          try pages[0].setValue("b", for: "name")
          _ = log.take()
          context.refreshAll()
          try expectEqual(log.take(), ["willTurnIntoFault z", "didTurnIntoFault z"])
          try expectEqual(try pages.map { try $0.label }, ["b", "z"])
          try expectEqual(log.take(), ["awakeFromFetch z"])
        }
      }
    }
    Case("an object with values that another context's save changes is not awakened again", model: Journals.model) {
      stack in
      try stack.write { try $0.make("Page", ["name": "a"]) }
      let saver = stack.context()
      // A context of a thread merges the saves of others at its next fetch, and on no other thread.
      let context = ManagedObjectContext(concurrencyType: .currentThread, coordinator: stack.coordinator)
      context.follow(saver)
      try HookLog.recording { log in
        let page = try context.one("Page")
        try expectEqual(log.take(), ["awakeFromFetch a"])
        try saver.performAndWait {
          try saver.one("Page").setValue("b", for: "name")
          try saver.save()
        }
        _ = log.take()
        try expect(try context.one("Page") === page, "the same object")
        try expectEqual(try page.label, "b")
        try expectEqual(log.take(), [], "the calls of the merge")
      }
    }
  }
}
