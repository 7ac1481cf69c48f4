import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

/// Merges into a tree, whose records are deleted with their parents by a delete rule.
@Suite("Merges beside cascades")
struct CascadeMergeTests {
  enum Form: CaseIterable { case records, objects, tombstones, pages }

  private static func tree() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Task", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
        Relationship("parent", toOne: "Task", inverse: "subtasks")
        Relationship("subtasks", toMany: "Task", inverse: "parent", deleteRule: .cascade)
      }
    }
  }

  /// Albums with their tracks, and with a track of any album as their single.
  private static func albums() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Album", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Relationship("tracks", toMany: "Track", inverse: "album", deleteRule: .cascade)
        Relationship("single", toOne: "Track", inverse: "singleOf")
      }
      Entity("Track", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
        Relationship("album", toOne: "Album", inverse: "tracks")
        Relationship("singleOf", toMany: "Album", inverse: "single")
      }
    }
  }

  private func merge(
    _ records: [MergeRecord], of name: String = "Task", into stack: MergeStack, as form: Form
  ) async throws -> MergeResult {
    let context = stack.connect.newActionContext()
    let entity = try stack.entity(name)
    switch form {
    case .records: return try context.merge(records: records, for: entity, options: .replaceAll)
    case .objects:
      let objects = try records.map { record in
        let object = ManagedObject(entity: entity, insertInto: nil)
        for (name, value) in record.values { try object.setValue(value, for: name) }
        return object
      }
      return try context.merge(objects: objects, for: entity)
    case .tombstones: return try context.merge(DeltaPage(records: records, tombstones: [1]), for: entity)
    case .pages:
      let pages = AsyncStream<[MergeRecord]> { continuation in
        for record in records { continuation.yield([record]) }
        continuation.finish()
      }
      return try await context.mergePages(pages, for: entity, options: .replaceAll)
    }
  }

  @Test(arguments: Backend.available, Form.allCases)
  func `a record of the input loses its parent and stays when a merge deletes the parent`(
    backend: Backend, form: Form
  ) async throws {
    let stack = try MergeStack(backend, try Self.tree())
    let stored = [
      MergeRecord(["id": 1]), MergeRecord(["id": 2, "parent": 1]), MergeRecord(["id": 3, "parent": 2]),
      MergeRecord(["id": 4, "parent": 1]),
    ]
    try stack.merge(stored, into: "Task")
    let input = [MergeRecord(["id": 2]), MergeRecord(["id": 3, "title": "new"])]
    let result = try await merge(input, into: stack, as: form)
    // The delete rule deletes the last record, which no tombstone names.
    #expect(result.deleted == (form == .tombstones ? 1 : 2))
    #expect(try stack.values(of: "Task", "title", by: "id", as: (Int64, String).self) == [2: "", 3: "new"])
    let parents = try stack.read { context in
      try stack.objects("Task", context).map { try $0.object(for: "parent")?.value(for: "id", as: Int64.self) }
    }
    #expect(parents.compactMap { $0 } == [2])
    #expect(try await merge(input, into: stack, as: form).counts == MergeResult.with(unchanged: 2))
  }

  @Test(arguments: Backend.available, [Form.records, .tombstones, .pages])
  func `a record to which the input links loses its owner and stays when a merge deletes the owner`(
    backend: Backend, form: Form
  ) async throws {
    let stack = try MergeStack(backend, try Self.albums())
    try stack.merge([MergeRecord(["id": 10]), MergeRecord(["id": 11])], into: "Track")
    let owner = MergeRecord(["id": 1], links: ["tracks": .many([10, 11])])
    let input = [MergeRecord(["id": 2], links: ["single": .one(10)])]
    try stack.merge([owner] + input, into: "Album")
    for isFirst in [true, false] {
      let result = try await merge(input, of: "Album", into: stack, as: form)
      #expect(result.counts == MergeResult.with(unchanged: 1, deleted: isFirst ? 1 : 0))
      #expect(try stack.values(of: "Track", "title", by: "id", as: (Int64, String).self).keys.sorted() == [10])
      let single = try stack.read { context in
        try stack.objects("Album", context).map { try $0.object(for: "single")?.value(for: "id", as: Int64.self) }
      }
      #expect(single == [10])
    }
  }
}
