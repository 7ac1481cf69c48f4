import CoherenceCore

/// The derived time of a record whose position in a list of another record changes.
extension ConformanceSubject {
  /// A model of lists whose items have the time of their last save.
  private static let lists = soundModel {
    Entity("List") { Relationship("items", toMany: "Item", inverse: "list", ordered: true) }
    Entity("Item") {
      Attribute("name", .string)
      Attribute("savedAt", .date, derived: .now)
      Relationship("list", toOne: "List", inverse: "items")
    }
  }

  private static func item(_ name: String, _ context: ManagedObjectContext) throws -> ManagedObject {
    try context.one("Item", where: equal("name", name))
  }

  /// A list of the items `a` and `b`, saved.
  private static func fill(_ stack: ConformanceStack) throws {
    try stack.write { context in
      let items = try ["a", "b"].map { try context.make("Item", ["name": $0]) }
      try context.make("List").setObjects(items, for: "items")
    }
  }

  private static func reverse(_ context: ManagedObjectContext) throws {
    let list = try context.one("List")
    try list.setObjects(try list.objects(for: "items").reversed(), for: "items")
  }

  @CasesBuilder static var derivedBesideLists: [Case] {
    Case("a merged position leaves the time of the other writer's save alone", model: lists) { stack in
      try fill(stack)
      let late = stack.context(.objectTrumps)
      try late.performAndWait {
        for item in try late.all("Item") { try item.load() }
        try reverse(late)
        try stack.write { try item("a", $0).setValue("c", for: "name") }
        let time = try stack.read { try item("c", $0).value(for: "savedAt") }
        try late.save()
        try stack.read { context in
          let item = try item("c", context)
          try expectEqual(try item.value(for: "savedAt"), time, "the time of the other writer's save")
          try expectEqual(try context.one("List").objects(for: "items").last?.label, "c")
        }
      }
    }
    Case("a position saved past a changed parent leaves the time alone", model: lists) { stack in
      try fill(stack)
      let time = try stack.read { try item("a", $0).value(for: "savedAt") }
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      child.savesPastParent = true
      try parent.performAndWait {
        try item("a", parent).setValue("parent", for: "name")
        try child.performAndWait {
          try reverse(child)
          try child.save()
        }
        try stack.read { context in
          try expectEqual(try item("a", context).value(for: "savedAt"), time)
          try expectEqual(try context.one("List").objects(for: "items").last?.label, "a")
        }
      }
    }
  }
}
