import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

@testable import CoherenceOutbox

/// Merges of pages whose requests began before the server confirmed an edit.
@Suite("Pages older than an acknowledgement")
struct OldPageTests {
  /// The process that merges the pages.
  enum Merging: CaseIterable {
    /// The merging process has sent the edits itself.
    case inSameProcess
    case inAnotherProcess
  }

  /// A started Connect whose notes the server already has.
  private struct Stage {
    let stack: NoteStack
    /// The stack that merges pages.
    private let other: NoteStack
    private let note: EntityDescription

    init(_ backend: Backend, _ merging: Merging, _ titles: String...) async throws {
      stack = try NoteStack(backend)
      other = merging == .inSameProcess ? stack : try stack.other()
      note = try other.connect.managedObjectModel.entity(named: Note.entityName)
      try await stack.connect.start()
      if merging == .inAnotherProcess { try await other.connect.start() }
      for title in titles { try stack.insertNote(title) }
      #expect(try await stack.forwardAll() == 0)
      passTime()
    }

    /// Advances the clock, which both processes read, beyond the time of the last acknowledgement.
    func passTime() { stack.time.advance(by: .seconds(3)) }

    func newActionContext() -> ActionContext { other.connect.newActionContext() }

    /// The titles of the notes by identifier.
    func titles() throws -> [String: String] {
      try stack.read { context in
        Dictionary(uniqueKeysWithValues: try context.fetch(FetchRequest(Note.self)).map { ($0.id, $0.title) })
      }
    }

    /// The page with the present notes of the server.
    func page() async -> [MergeRecord] {
      await stack.server.records.filter { $0.value.entityName == Note.entityName }.sorted { $0.key < $1.key }
        .map { id, record in
          guard case .string(let title)? = record.values["title"] else { return MergeRecord(["id": id]) }
          return MergeRecord(["id": id, "title": title])
        }
    }

    func merge(
      _ page: [MergeRecord], _ policy: MergeOptions.PendingEditsPolicy = .keepLocal,
      _ mode: MergeOptions.Mode = .replace, requestedAt: ContinuousClock.Instant?
    ) throws -> MergeResult {
      let options = MergeOptions(mode: mode, maximumDeletedShare: 1, pendingEdits: policy, requestedAt: requestedAt)
      return try newActionContext().merge(records: page, for: note, options: options)
    }

    func merge(_ page: DeltaPage, requestedAt: ContinuousClock.Instant) throws -> MergeResult {
      let options = MergeOptions(maximumDeletedShare: 1, requestedAt: requestedAt)
      return try newActionContext().merge(page, for: note, options: options)
    }
  }

  @Test(arguments: Backend.available, Merging.allCases)
  func `a page older than an acknowledgement restores no value, and deletes or inserts no record`(
    _ backend: Backend, _ merging: Merging
  ) async throws {
    for policy in [MergeOptions.PendingEditsPolicy.keepLocal, .server, .conflict] {
      let stage = try await Stage(backend, merging, "A", "B")
      let requestedAt = ContinuousClock.now
      let old = await stage.page()
      try stage.stack.change("A") { $0.title = "A1" }
      try stage.stack.change("A1") { $0.title = "A2" }
      try stage.stack.delete("B")
      try stage.stack.insertNote("C")
      #expect(try await stage.stack.forwardAll() == 0)
      let titles = ["s1": "A2", "s3": "C"]
      #expect(try stage.titles() == titles)
      let result = try stage.merge(old, policy, requestedAt: requestedAt)
      #expect(result.keptEdits == 3 && result.pendingConflicts == 0)
      #expect(try stage.titles() == titles)
      #expect(try await stage.stack.outbox.counts().total == 0)
      // A page requested after the acknowledgements is merged without protection.
      stage.passTime()
      #expect(try stage.merge(old, policy, requestedAt: .now).deleted == 1)
      #expect(try stage.titles() == ["s1": "A", "s2": "B"])
    }
  }

  @Test(arguments: Backend.available, Merging.allCases)
  func `a merge dates the request of its page by the creation of its context`(
    _ backend: Backend, _ merging: Merging
  ) async throws {
    let stage = try await Stage(backend, merging, "A")
    let context = stage.newActionContext()
    let old = await stage.page()
    try stage.stack.change("A") { $0.title = "A1" }
    #expect(try await stage.stack.forwardAll() == 0)
    let entity = try stage.stack.connect.managedObjectModel.entity(named: Note.entityName)
    func merge(in context: ActionContext) throws -> Int { try context.merge(records: old, for: entity).keptEdits }
    #expect(try merge(in: context) == 1)
    #expect(try stage.titles() == ["s1": "A1"])
    stage.passTime()
    #expect(try merge(in: stage.newActionContext()) == 0)
    #expect(try stage.titles() == ["s1": "A"])
  }

  @Test(arguments: Backend.available, Merging.allCases)
  func `an old page with a value of another client replaces a confirmed edit`(
    _ backend: Backend, _ merging: Merging
  ) async throws {
    let stage = try await Stage(backend, merging, "A")
    let requestedAt = ContinuousClock.now
    try stage.stack.change("A") { $0.title = "A1" }
    #expect(try await stage.stack.forwardAll() == 0)
    await stage.stack.server.change("s1") { $0.values["title"] = .string("of another client") }
    let page = await stage.page()
    #expect(try stage.merge(page, requestedAt: requestedAt).updated == 1)
    #expect(try stage.titles() == ["s1": "of another client"])
  }

  @Test(arguments: Backend.available, Merging.allCases)
  func `an old page neither replaces a pending edit based on a confirmed edit, nor conflicts with it`(
    _ backend: Backend, _ merging: Merging
  ) async throws {
    let stage = try await Stage(backend, merging, "A")
    let requestedAt = ContinuousClock.now
    let old = await stage.page()
    try stage.stack.change("A") { $0.title = "A1" }
    #expect(try await stage.stack.forwardAll() == 0)
    try stage.stack.change("A1") { $0.title = "A2" }
    for policy in [MergeOptions.PendingEditsPolicy.server, .conflict] {
      let result = try stage.merge(old, policy, requestedAt: requestedAt)
      #expect(result.keptEdits == 1 && result.pendingConflicts == 0)
      #expect(try stage.titles() == ["s1": "A2"])
      #expect(try await stage.stack.outbox.counts().pending == 1)
    }
    #expect(try await stage.stack.forwardAll() == 0)
    #expect(await stage.stack.server.records["s1"]?.values["title"] == .string("A2"))
  }

  @Test(arguments: Backend.available, Merging.allCases)
  func `a tombstone deletes a record whose edit was confirmed after the request`(
    _ backend: Backend, _ merging: Merging
  ) async throws {
    let stage = try await Stage(backend, merging, "A", "B")
    let requestedAt = ContinuousClock.now
    try stage.stack.change("A") { $0.title = "A1" }
    #expect(try await stage.stack.forwardAll() == 0)
    let page = DeltaPage(records: [], tombstones: [MergeKey("s1")])
    #expect(try stage.merge(page, requestedAt: requestedAt).deleted == 1)
    #expect(try stage.titles() == ["s2": "B"])
  }

  @Test(arguments: Backend.available, Merging.allCases)
  func `an old page does not replace a value from the server's reply`(
    _ backend: Backend, _ merging: Merging
  ) async throws {
    let stage = try await Stage(backend, merging, "A")
    let requestedAt = ContinuousClock.now
    try stage.stack.change("A") { $0.title = "A1" }
    await stage.stack.server.script(.answer(.accepted(["rank": Int64(7)])))
    #expect(try await stage.stack.forwardAll() == 0)
    let old = [MergeRecord(["id": "s1", "title": "A", "rank": Int64(0)])]
    #expect(try stage.merge(old, requestedAt: requestedAt).keptEdits == 1)
    let ranks = try stage.stack.read { try $0.fetch(FetchRequest(Note.self)).map { [$0.title, "\($0.rank)"] } }
    #expect(ranks == [["A1", "7"]])
  }

  @Test(arguments: Backend.available, Merging.allCases)
  func `a moved note stays in its new folder when an old page has the former folder`(
    _ backend: Backend, _ merging: Merging
  ) async throws {
    let stage = try await Stage(backend, merging)
    try stage.stack.insertFolders()
    #expect(try await stage.stack.forwardAll() == 0)
    func folder() throws -> String? { try stage.stack.read { try NoteStack.note("A", in: $0).folder?.name } }
    let former = try stage.stack.read { try NoteStack.note("A", in: $0).folder?.id }
    let id = try stage.stack.read { try NoteStack.note("A", in: $0).id }
    let requestedAt = ContinuousClock.now
    let formerPage = [MergeRecord(["id": id], links: ["folder": .one(MergeKey(try #require(former)))])]
    try stage.stack.move(to: "G")
    #expect(try await stage.stack.forwardAll() == 0)
    #expect(try folder() == "G")
    #expect(try stage.merge(formerPage, .server, .upsertOnly, requestedAt: requestedAt).keptEdits == 1)
    #expect(try folder() == "G")
    stage.passTime()
    _ = try stage.merge(formerPage, .server, .upsertOnly, requestedAt: .now)
    #expect(try folder() == "F")
  }

  @Test(arguments: Backend.available, Merging.allCases)
  func `a moved note stays in its new folder when an old page lists the notes of both folders`(
    _ backend: Backend, _ merging: Merging
  ) async throws {
    let stage = try await Stage(backend, merging)
    try stage.stack.insertFolders()
    #expect(try await stage.stack.forwardAll() == 0)
    func folder() throws -> String? { try stage.stack.read { try NoteStack.note("A", in: $0).folder?.name } }
    let id = try stage.stack.read { try NoteStack.note("A", in: $0).id }
    let ids = try stage.stack.read { context in
      Dictionary(uniqueKeysWithValues: try context.fetch(FetchRequest(NoteFolder.self)).map { ($0.name, $0.id) })
    }
    let (former, present) = (try #require(ids["F"]), try #require(ids["G"]))
    let requestedAt = ContinuousClock.now
    let formerPage = [
      MergeRecord(["id": former], links: ["notes": .many([MergeKey(id)])]),
      MergeRecord(["id": present], links: ["notes": .many([])]),
    ]
    func merge(requestedAt: ContinuousClock.Instant) throws {
      let context = stage.newActionContext()
      let model = try #require(context.persistentStoreCoordinator?.managedObjectModel)
      _ = try context.merge(
        records: formerPage, for: model.entity(named: NoteFolder.entityName),
        options: MergeOptions(requestedAt: requestedAt))
    }
    try stage.stack.move(to: "G")
    #expect(try await stage.stack.forwardAll() == 0)
    try merge(requestedAt: requestedAt)
    #expect(try folder() == "G")
    stage.passTime()
    try merge(requestedAt: .now)
    #expect(try folder() == "F")
  }

  @Test(arguments: Backend.available, Merging.allCases)
  func `a new note stays in its folder when an old page lists the former notes of the folder`(
    _ backend: Backend, _ merging: Merging
  ) async throws {
    let stage = try await Stage(backend, merging)
    try stage.stack.insertFolders()
    #expect(try await stage.stack.forwardAll() == 0)
    stage.passTime()
    let requestedAt = ContinuousClock.now
    try stage.stack.edit { context in
      let note = try Note(context: context)
      (note.id, note.title) = ("local-B", "B")
      note.folder = try NoteStack.note("A", in: context).folder
    }
    #expect(try await stage.stack.forwardAll() == 0)
    let (folder, former) = try stage.stack.read { context in
      let note = try NoteStack.note("A", in: context)
      return (note.folder?.id ?? "", note.id)
    }
    func merge(requestedAt: ContinuousClock.Instant) throws {
      let context = stage.newActionContext()
      let model = try #require(context.persistentStoreCoordinator?.managedObjectModel)
      _ = try context.merge(
        records: [MergeRecord(["id": folder], links: ["notes": .many([MergeKey(former)])])],
        for: model.entity(named: NoteFolder.entityName), options: MergeOptions(requestedAt: requestedAt))
    }
    func folderName() throws -> String? { try stage.stack.read { try NoteStack.note("B", in: $0).folder?.name } }
    try merge(requestedAt: requestedAt)
    #expect(try folderName() == "F")
    stage.passTime()
    try merge(requestedAt: .now)
    #expect(try folderName() == nil)
  }

  @Test(arguments: Backend.availableSQL)
  func `an old page with a former value in the type of a later model restores no value`(_ backend: Backend) async throws
  {
    let stack = try AgreementStack(backend, titles: [1: "1", 2: "1"])
    let requestedAt = ContinuousClock.now
    try stack.set("2", of: 1)
    try stack.outbox.forward("Task") { handlers in handlers.update { _ in .accepted } }
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    let later = try stack.numberingTitles()
    func merge(_ title: Int) throws -> MergeResult {
      try later.connect.newActionContext().merge(
        records: [1, 2].map { MergeRecord(["id": $0, "title": title]) },
        for: later.connect.managedObjectModel.entity(named: "Task"), options: MergeOptions(requestedAt: requestedAt))
    }
    let old = try merge(1)
    #expect(old.updated == 0 && old.keptEdits == 1)
    let new = try merge(3)
    #expect(new.updated == 2 && new.keptEdits == 0)
  }
}
