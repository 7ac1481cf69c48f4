import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

/// Merges that delete records whose delete rules reach records of the input, records with edits, and records that cannot
/// leave their owner.
@Suite("Records that the cascades of a merge reach")
struct CascadedRecordTests {
  /// Calls a block in a context beside the merges, and saves.
  private func edit(_ stack: MergeStack, _ body: (ManagedObjectContext) throws -> Void) throws {
    let context = stack.connect.newBackgroundContext()
    try context.performAndWait {
      try body(context)
      try context.save()
    }
  }

  @discardableResult
  private func insert(
    _ name: String, _ id: Int64, _ context: ManagedObjectContext, in owner: (name: String, object: ManagedObject)? = nil
  ) throws -> ManagedObject {
    let object = try context.insertNewObject(forEntityName: name)
    try object.setValue(id, for: "id")
    if let owner { try object.setObject(owner.object, for: owner.name) }
    return object
  }

  private func titles(_ name: String, _ stack: MergeStack) throws -> [Int64: String] {
    try stack.values(of: name, "title", by: "id")
  }

  // MARK: Through another entity

  /// Tasks with lists of other tasks.
  private static func lists() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Task", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
        Relationship("lists", toMany: "List", inverse: "owner", deleteRule: .cascade)
        Relationship("list", toOne: "List", inverse: "tasks")
      }
      Entity("List") {
        Attribute("id", .int64)
        Relationship("owner", toOne: "Task", inverse: "lists")
        Relationship("tasks", toMany: "Task", inverse: "list", deleteRule: .cascade)
      }
    }
  }

  @Test(arguments: Backend.available)
  func `a record of the input stays when a cascade reaches it through a record of another entity`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend, try Self.lists())
    try edit(stack) { context in
      let owner = try insert("Task", 1, context)
      let list = try insert("List", 1, context, in: ("owner", owner))
      for id in [2, 3] as [Int64] { try insert("Task", id, context, in: ("list", list)) }
    }
    let input = [MergeRecord(["id": 2, "title": "new"])]
    #expect(try stack.merge(input, into: "Task").counts == MergeResult.with(updated: 1, deleted: 2))
    #expect(try titles("Task", stack) == [2: "new"])
    #expect(try stack.read { try stack.objects("List", $0).isEmpty })
    #expect(try stack.merge(input, into: "Task").counts == MergeResult.with(unchanged: 1))
  }

  // MARK: Required owners

  /// Groups and their leaves, which need a group.
  private static func groups() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Node", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
      }
      Entity("Group", parent: "Node") {
        Relationship("leaves", toMany: "Leaf", inverse: "group", deleteRule: .cascade)
      }
      Entity("Leaf", parent: "Node") {
        Relationship("group", toOne: "Group", inverse: "leaves", optional: false)
      }
    }
  }

  @Test(arguments: Backend.available)
  func `the owner that a record of the input requires stays, and counts as skipped`(backend: Backend) throws {
    let stack = try MergeStack(backend, try Self.groups())
    try edit(stack) { context in
      let group = try insert("Group", 1, context)
      for id in [2, 3] as [Int64] { try insert("Leaf", id, context, in: ("group", group)) }
      let other = try insert("Group", 4, context)
      try insert("Leaf", 5, context, in: ("group", other))
    }
    let input = [MergeRecord(["id": 2, "title": "new"])]
    let options = MergeOptions(mode: .replace, includesSubentities: true, maximumDeletedShare: 1)
    let result = try stack.merge(input, into: "Node", options: options)
    #expect(result.counts == MergeResult.with(updated: 1, deleted: 3, skipped: 1))
    #expect(try titles("Node", stack) == [1: "", 2: "new"])
    let again = try stack.merge(input, into: "Node", options: options)
    #expect(again.counts == MergeResult.with(unchanged: 1, skipped: 1))
  }

  /// Nodes, and children that need another node.
  private static func chains() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Node", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
        Relationship("children", toMany: "Child", inverse: "parent", deleteRule: .cascade)
      }
      Entity("Child", parent: "Node") {
        Relationship("parent", toOne: "Node", inverse: "children", optional: false)
      }
    }
  }

  @Test(arguments: Backend.available)
  func `all owners in a chain above a record of the input stay if each one requires the next`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend, try Self.chains())
    try edit(stack) { context in
      var last = try insert("Node", 1, context)
      for id in [2, 3, 4] as [Int64] {
        try insert("Child", id + 10, context, in: ("parent", last))
        last = try insert("Child", id, context, in: ("parent", last))
      }
    }
    let options = MergeOptions(mode: .replace, includesSubentities: true, maximumDeletedShare: 1)
    let result = try stack.merge([MergeRecord(["id": 4])], into: "Node", options: options)
    #expect(result.counts == MergeResult.with(unchanged: 1, deleted: 3, skipped: 3))
    #expect(try titles("Node", stack).keys.sorted() == [1, 2, 3, 4])
  }

  /// Accounts with folders, which need their account, and with notes in the folders.
  private static func accounts(_ rule: DeleteRule) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Box", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
      }
      Entity("Account", parent: "Box") {
        Relationship("folders", toMany: "Folder", inverse: "account", deleteRule: rule)
      }
      Entity("Folder", parent: "Box") {
        Relationship("account", toOne: "Account", inverse: "folders", optional: false)
        Relationship("notes", toMany: "Note", inverse: "folder", deleteRule: .cascade)
      }
      Entity("Note", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
        Relationship("folder", toOne: "Folder", inverse: "notes", optional: false)
      }
    }
  }

  @Test(arguments: Backend.available, [DeleteRule.nullify, .deny])
  func `the record that an owner requires stays with the owner of a record with a pending edit`(
    backend: Backend, rule: DeleteRule
  ) throws {
    let source = ScriptedEdits(["Note"])
    let stack = try MergeStack(backend, try Self.accounts(rule))
    var edited: ManagedObjectID?
    try edit(stack) { context in
      let account = try insert("Account", 1, context)
      let folder = try insert("Folder", 2, context, in: ("account", account))
      let note = try insert("Note", 3, context, in: ("folder", folder))
      _ = try insert("Account", 4, context)
      try context.save()
      edited = note.objectID
    }
    source.add(PendingEdit(of: try #require(edited), .update, changed: ["title"], base: ["title": .string("old")]))
    stack.connect.pendingEdits = source
    let options = MergeOptions(mode: .replace, includesSubentities: true, maximumDeletedShare: 1)
    let result = try stack.merge([], into: "Box", options: options)
    #expect(result.counts == MergeResult.with(deleted: 1, skipped: 2))
    #expect(result.keptEdits == 1 && result.pendingConflicts == 1)
    #expect(try titles("Box", stack).keys.sorted() == [1, 2] && titles("Note", stack).keys.sorted() == [3])
  }

  /// Folders with notes, which need their folder and the account of their author.
  private static func authoredNotes() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Box", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
      }
      Entity("Account", parent: "Box") { Relationship("notes", toMany: "Note", inverse: "author") }
      Entity("Folder", parent: "Box") {
        Relationship("contents", toMany: "Note", inverse: "folder", deleteRule: .cascade)
      }
      Entity("Note", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
        Relationship("folder", toOne: "Folder", inverse: "contents", optional: false)
        Relationship("author", toOne: "Account", inverse: "notes", optional: false)
      }
    }
  }

  @Test(arguments: Backend.available)
  func `the records that the other members of a staying owner require stay too`(backend: Backend) throws {
    let source = ScriptedEdits(["Note"])
    let stack = try MergeStack(backend, try Self.authoredNotes())
    var edited: ManagedObjectID?
    try edit(stack) { context in
      let accounts = try [1, 2, 3].map { try insert("Account", $0, context) }
      let folder = try insert("Folder", 4, context)
      let notes = try [5, 6].map { try insert("Note", $0, context, in: ("folder", folder)) }
      for (note, account) in zip(notes, accounts) { try note.setObject(account, for: "author") }
      try context.save()
      edited = notes[0].objectID
    }
    source.add(PendingEdit(of: try #require(edited), .update, changed: ["title"], base: ["title": .string("old")]))
    stack.connect.pendingEdits = source
    let options = MergeOptions(mode: .replace, includesSubentities: true, maximumDeletedShare: 1)
    let result = try stack.merge([], into: "Box", options: options)
    #expect(result.counts == MergeResult.with(deleted: 1, skipped: 3))
    #expect(try titles("Box", stack).keys.sorted() == [1, 2, 4] && titles("Note", stack).keys.sorted() == [5, 6])
  }

  // MARK: Edits

  /// A stack with the folder 1 and its notes 2 and 3.
  private func notes(_ backend: Backend, isRequired: Bool = false) throws -> MergeStack {
    let stack = try MergeStack(backend, try MergeStack.folders(isRequired: isRequired))
    try edit(stack) { context in
      let folder = try insert("Folder", 1, context)
      for id in [2, 3] as [Int64] { try insert("Note", id, context, in: ("folder", folder)) }
    }
    return stack
  }

  /// A stack with the folder 1 and its notes 2 and 3. The source has an edit of the note 2.
  private func editedNote(
    _ backend: Backend, _ source: ScriptedEdits, _ kind: PendingEdit.Kind = .update, isRequired: Bool = false,
    isBeingSent: Bool = false, conflict: PendingConflict? = nil
  ) throws -> MergeStack {
    let stack = try notes(backend, isRequired: isRequired)
    let ids = try stack.read { context in
      try stack.objects("Note", context).filter { try $0.value(for: "id", as: Int64.self) == 2 }.map(\.objectID)
    }
    source.add(
      PendingEdit(
        of: try #require(ids.first), kind, changed: ["title"], base: ["title": .string("old")],
        isBeingSent: isBeingSent, conflict: conflict))
    stack.connect.pendingEdits = source
    return stack
  }

  private func mergeNothing(
    into stack: MergeStack, _ policy: MergeOptions.PendingEditsPolicy = .keepLocal
  ) throws -> MergeResult {
    try stack.merge(
      [], into: "Folder", options: MergeOptions(mode: .replace, maximumDeletedShare: 1, pendingEdits: policy))
  }

  @Test(arguments: Backend.available, [MergeOptions.PendingEditsPolicy.keepLocal, .conflict])
  func `a record with a pending edit stays as a conflict when a merge deletes its owner`(
    backend: Backend, policy: MergeOptions.PendingEditsPolicy
  ) throws {
    let source = ScriptedEdits(["Note"])
    let stack = try editedNote(backend, source)
    let result = try mergeNothing(into: stack, policy)
    #expect(result.counts == MergeResult.with(deleted: 1))
    #expect(result.keptEdits == 1 && result.pendingConflicts == 1 && result.postponed == 0)
    #expect(try titles("Note", stack).keys.sorted() == [2])
    #expect(source.decisions.map(\.isConflict) == [true] && source.decisions.first?.serverValues == nil)
  }

  @Test(arguments: Backend.available)
  func `under the policy server, a cascade deletes a record with its pending edit`(backend: Backend) throws {
    let source = ScriptedEdits(["Note"])
    let stack = try editedNote(backend, source)
    let result = try mergeNothing(into: stack, .server)
    #expect(result.counts == MergeResult.with(deleted: 1) && result.keptEdits == 0)
    #expect(try titles("Note", stack).isEmpty)
    #expect(source.decisions.map(\.discarded) == [["title"]])
  }

  @Test(arguments: Backend.available)
  func `under the policy server, a cascade ends the conflict of a record, and under other policies keeps it`(
    backend: Backend
  ) throws {
    let conflict = PendingConflict(names: ["title"], serverValues: ["title": .string("theirs")])
    for policy in [MergeOptions.PendingEditsPolicy.server, .keepLocal] {
      let source = ScriptedEdits(["Note"])
      let stack = try editedNote(backend, source, conflict: conflict)
      _ = try mergeNothing(into: stack, policy)
      #expect(source.decisions.map(\.endsConflict) == [policy == .server], "\(policy)")
      #expect(source.decisions.map(\.isConflict) == [policy != .server], "\(policy)")
    }
  }

  @Test(arguments: Backend.available, [MergeOptions.PendingEditsPolicy.server, .keepLocal, .conflict])
  func `a record that the server does not have yet stays when a merge deletes its owner`(
    backend: Backend, policy: MergeOptions.PendingEditsPolicy
  ) throws {
    let source = ScriptedEdits(["Note"])
    let stack = try editedNote(backend, source, .insert)
    let result = try mergeNothing(into: stack, policy)
    #expect(result.counts == MergeResult.with(deleted: 1))
    #expect(result.keptEdits == 1 && result.pendingConflicts == 0 && source.decisions.isEmpty)
    #expect(try titles("Note", stack).keys.sorted() == [2])
  }

  @Test(arguments: Backend.available)
  func `the owner that a record with a pending edit requires stays until the end of the edit`(
    backend: Backend
  ) throws {
    let source = ScriptedEdits(["Note"])
    let stack = try editedNote(backend, source, isRequired: true, isBeingSent: true)
    let result = try mergeNothing(into: stack, .server)
    #expect(result.counts == MergeResult.with(skipped: 1))
    #expect(result.keptEdits == 1 && result.pendingConflicts == 0 && result.postponed == 1)
    #expect(try titles("Note", stack).keys.sorted() == [2, 3])
  }

  @Test(arguments: Backend.available)
  func `an owner that stays keeps its own pending edit under the policy server`(backend: Backend) throws {
    let source = ScriptedEdits(["Folder", "Note"])
    let stack = try editedNote(backend, source, isRequired: true, isBeingSent: true)
    let folders = try stack.read { try stack.objects("Folder", $0).map(\.objectID) }
    source.add(PendingEdit(of: try #require(folders.first), .update, changed: ["notes"]))
    let result = try mergeNothing(into: stack, .server)
    #expect(result.counts == MergeResult.with(skipped: 1))
    #expect(result.keptEdits == 2 && source.decisions.isEmpty)
  }

  @Test(arguments: Backend.available, [MergeOptions.PendingEditsPolicy.keepLocal, .conflict])
  func `a pending edit that opposes the deletion by the input and a cascade counts once, and is one conflict`(
    backend: Backend, policy: MergeOptions.PendingEditsPolicy
  ) throws {
    let source = ScriptedEdits(["Task"])
    let stack = try MergeStack(backend, try Self.lists())
    var edited: ManagedObjectID?
    try edit(stack) { context in
      let list = try insert("List", 1, context, in: ("owner", try insert("Task", 1, context)))
      let task = try insert("Task", 2, context, in: ("list", list))
      try context.save()
      edited = task.objectID
    }
    source.add(PendingEdit(of: try #require(edited), .update, changed: ["title"], base: ["title": .string("old")]))
    stack.connect.pendingEdits = source
    let options = MergeOptions(mode: .replace, maximumDeletedShare: 1, pendingEdits: policy)
    let result = try stack.merge([], into: "Task", options: options)
    #expect(result.counts == MergeResult.with(deleted: 1, skipped: 1))
    #expect(result.keptEdits == 1 && result.pendingConflicts == 1 && source.decisions.count == 1)
    #expect(try titles("Task", stack).keys.sorted() == [2])
  }

  @Test(arguments: Backend.available)
  func `a record that only a delete rule deletes changes no count when another writer deletes the record first`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend, try MergeStack.folders(isRequired: false))
    try edit(stack) { context in
      let folder = try insert("Folder", 1, context)
      for id in [2, 3] as [Int64] { try insert("Note", id, context, in: ("folder", folder)) }
    }
    try stack.interfere { stranger in
      for note in try stranger.fetch(FetchRequest<ManagedObject>(entityName: "Note")) { stranger.delete(note) }
    }
    let options = MergeOptions(mode: .replace, maximumDeletedShare: 1, conflictResolution: .localWins)
    #expect(try stack.merge([], into: "Folder", options: options).counts == MergeResult.with(deleted: 1))
    #expect(try titles("Folder", stack).isEmpty && titles("Note", stack).isEmpty)
  }

  @MainActor
  @Test(arguments: Backend.available)
  func `with localWins, a record with an unsaved edit of the view stays when a merge deletes its owner`(
    backend: Backend
  ) throws {
    let stack = try notes(backend)
    let view = stack.connect.viewContext
    let found = try stack.objects("Note", view).first { try $0.value(for: "id", as: Int64.self) == 2 }
    let note = try #require(found)
    try note.setValue("edited", for: "title")
    let options = MergeOptions(mode: .replace, maximumDeletedShare: 1, conflictResolution: .localWins)
    #expect(try stack.merge([], into: "Folder", options: options).counts == MergeResult.with(deleted: 1))
    #expect(try titles("Note", stack) == [2: ""])
    try view.save()
    #expect(try titles("Note", stack) == [2: "edited"])
  }
}
