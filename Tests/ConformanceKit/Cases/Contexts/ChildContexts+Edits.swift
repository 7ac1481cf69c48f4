import CoherenceCore

/// Edits of a child on top of unsaved edits of its parent, while other writers save.
extension ConformanceSubject {
  private typealias Edits = [String: any AttributeConvertible]

  private static func edit(_ edits: Edits, in context: ManagedObjectContext) throws {
    try context.performAndWait {
      let album = try context.one("Album")
      for (name, value) in edits { try album.setValue(value, for: name) }
    }
  }

  private static func save(_ edits: Edits, in context: ManagedObjectContext) throws {
    try context.performAndWait {
      try edit(edits, in: context)
      try context.save()
    }
  }

  private static func titleAndYear(_ context: ManagedObjectContext) throws -> [AttributeValue] {
    try context.performAndWait {
      let album = try context.one("Album")
      return try ["title", "year"].map { try album.value(for: $0) }
    }
  }

  /// Edits a saved album in a parent, then in its child on top of these edits, and saves other edits in a context that
  /// the parent follows.
  private static func nest(
    _ stack: ConformanceStack, parentEdits: Edits, childEdits: Edits, saves: Edits, savesPastParent: Bool = false,
    then: (_ parent: ManagedObjectContext, _ child: ManagedObjectContext) throws -> Void
  ) throws {
    try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
    let (writer, parent) = (stack.context(), stack.context())
    parent.follow(writer)
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    child.savesPastParent = savesPastParent
    try edit(parentEdits, in: parent)
    try edit(childEdits, in: child)
    try save(saves, in: writer)
    try then(parent, child)
  }

  @CasesBuilder static var editsOnParentsEdits: [Case] {
    Case("objects of a fetch that leaves pending changes out show the unsaved changes of the parent") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      let parent = stack.context()
      try edit(["title": "parent's"], in: parent)
      for isFault in [false, true] {
        let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
        var request = FetchRequest<ManagedObject>(entityName: "Album").filter(equal("title", "A"))
        request.includesPendingChanges = false
        request.returnsObjectsAsFaults = isFault
        for year in 2...3 {
          try child.performAndWait { try expectEqual(try child.fetch(request).map { try $0.label }, ["parent's"]) }
          try expectEqual(try titleAndYear(child).first, .string("parent's"))
          // The parent does not follow the writer.
          try save(["year": isFault ? year + 2 : year], in: stack.context())
        }
      }
    }
    Case("an edited object of a child shows its parent's unsaved edits after another writer's save") { stack in
      try nest(stack, parentEdits: ["title": "parent's"], childEdits: ["year": 2], saves: ["isLive": true]) {
        parent, child in
        try expectEqual(try titleAndYear(child), [.string("parent's"), .int(2)])
        try child.performAndWait { try child.save() }
        try parent.performAndWait { try parent.save() }
      }
      try expectEqual(try titleAndYear(stack.context()), [.string("parent's"), .int(2)])
      try stack.read { try expectEqual(try $0.one("Album").value(for: "isLive"), .bool(true)) }
    }
    Case("a child's edit of its parent's unsaved value back to the stored one outlasts another writer's save") {
      stack in
      try nest(stack, parentEdits: ["title": "parent's"], childEdits: ["title": "A"], saves: ["year": 2]) {
        parent, child in
        try child.performAndWait { try child.save() }
        try expectEqual(try titleAndYear(parent), [.string("A"), .int(2)])
        try parent.performAndWait { try parent.save() }
      }
      try expectEqual(try titleAndYear(stack.context()), [.string("A"), .int(2)])
    }
    Case("a child's edit of its parent's edit is no conflict after saves of another writer and of the parent") {
      stack in
      try nest(stack, parentEdits: ["title": "parent's"], childEdits: ["title": "child's"], saves: ["year": 2]) {
        parent, child in
        try expectEqual(try titleAndYear(child), [.string("child's"), .int(2)])
        try parent.performAndWait { try parent.save() }
        try child.performAndWait { try child.save() }
        try parent.performAndWait { try parent.save() }
      }
      try expectEqual(try titleAndYear(stack.context()), [.string("child's"), .int(2)])
    }
    Case("a child's save past its parent is a conflict with a merged save of a property that both have edited") {
      stack in
      try nest(
        stack, parentEdits: ["title": "parent's"], childEdits: ["title": "child's"], saves: ["title": "theirs"],
        savesPastParent: true
      ) { _, child in
        try expectEqual(try titleAndYear(child), [.string("child's"), .int(1)])
        try child.performAndWait { _ = try expectThrows(.versionConflict) { try child.save() } }
        child.mergePolicy = .storeTrumps
        try child.performAndWait { try child.save() }
      }
      try expectEqual(try titleAndYear(stack.context()), [.string("theirs"), .int(1)])
    }
  }
}
