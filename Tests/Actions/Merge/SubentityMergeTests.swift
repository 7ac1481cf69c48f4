import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

/// Objects of subentities as the input of a merge into their common entity.
@Suite("Merges of objects of subentities")
struct SubentityMergeTests {
  private func stack(_ backend: Backend) throws -> MergeStack {
    let model = try ManagedObjectModel {
      Entity("Work", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
      }
      Entity("Song", parent: "Work") { Attribute("minutes", .int64, default: 0) }
      Entity("Poem", parent: "Work") { Attribute("lines", .double, default: 0.0) }
    }
    return try MergeStack(backend, model)
  }

  /// Merges one object for each list of values.
  private func merge(
    _ works: [(String, [String: any AttributeConvertible])], into stack: MergeStack, options: MergeOptions = .replaceAll
  ) throws -> [String: Int] {
    let objects = try works.map { name, values in
      let object = ManagedObject(entity: try stack.entity(name), insertInto: nil)
      for (name, value) in values { try object.setValue(value, for: name) }
      return object
    }
    return try stack.connect.newActionContext().merge(objects: objects, for: stack.entity("Work"), options: options)
      .counts
  }

  /// The entities of the works, with their titles, by identifier.
  private func works(_ stack: MergeStack) throws -> [Int: [String]] {
    try stack.read { context in
      Dictionary(
        uniqueKeysWithValues: try stack.objects("Work", context).map { work in
          let title = try work.value(for: "title", as: String.self)
          return (try work.value(for: "id", as: Int.self), [work.entity.name, title])
        })
    }
  }

  @Test(arguments: Backend.available)
  func `an object keeps its subentity, and each of its attributes is compared`(backend: Backend) throws {
    let stack = try stack(backend)
    func merge(minutes: Int) throws -> [String: Int] {
      try self.merge(
        [("Song", ["id": 1, "title": "a", "minutes": minutes]), ("Work", ["id": 2, "title": "b"])], into: stack)
    }
    #expect(try merge(minutes: 3) == MergeResult.with(inserted: 2))
    #expect(try merge(minutes: 3) == MergeResult.with(unchanged: 2))
    #expect(try merge(minutes: 4) == MergeResult.with(updated: 1, unchanged: 1))
    #expect(try works(stack) == [1: ["Song", "a"], 2: ["Work", "b"]])
    #expect(try stack.values(of: "Song", "minutes", by: "id", as: (Int64, Int64).self) == [1: 4])
  }

  @Test(arguments: Backend.available)
  func `an object of another subentity than its record gives the record the common attributes`(
    backend: Backend
  ) throws {
    let stack = try stack(backend)
    #expect(
      try merge([("Poem", ["id": 1, "title": "a", "lines": 14.0])], into: stack) == MergeResult.with(inserted: 1))
    let song: [String: any AttributeConvertible] = ["id": 1, "title": "new", "minutes": 3]
    #expect(try merge([("Song", song)], into: stack) == MergeResult.with(updated: 1))
    #expect(try merge([("Song", song)], into: stack) == MergeResult.with(unchanged: 1))
    #expect(try works(stack) == [1: ["Poem", "new"]])
    #expect(try stack.values(of: "Poem", "lines", by: "id", as: (Int64, Double).self) == [1: 14])
  }

  @Test(arguments: Backend.available)
  func `an unanswered insert of a subentity keeps one record with its common values out of a page`(
    backend: Backend
  ) throws {
    let stack = try stack(backend)
    #expect(
      try merge([("Song", ["id": 1, "title": "a", "minutes": 3])], into: stack) == MergeResult.with(inserted: 1))
    let source = ScriptedEdits(["Work"])
    let songs = try stack.read { try stack.objects("Song", $0).map(\.objectID) }
    let song = try #require(songs.first)
    source.add(PendingEdit(of: song, .insert, isBeingSent: true, isInsertUnanswered: true))
    stack.connect.pendingEdits = source
    let page = [7, 8].map { MergeRecord(["id": $0, "title": "a"]) } + [MergeRecord(["id": 9, "title": "b"])]
    let result = try stack.merge(page, into: "Work")
    #expect(result.inserted == 2 && result.deleted == 0)
    #expect(try works(stack) == [1: ["Song", "a"], 8: ["Work", "a"], 9: ["Work", "b"]])
  }

  @Test(arguments: Backend.available)
  func `a conflict between an object and a record of another subentity has the common values of the object`(
    backend: Backend
  ) throws {
    let stack = try stack(backend)
    _ = try merge([("Poem", ["id": 1, "title": "edited", "lines": 14.0])], into: stack)
    let poems = try stack.read { try stack.objects("Poem", $0).map(\.objectID) }
    let poem = try #require(poems.first)
    let source = ScriptedEdits(["Work"])
    source.add(PendingEdit(of: poem, .update, changed: ["title"], base: ["title": .string("old")]))
    stack.connect.pendingEdits = source
    let song: [String: any AttributeConvertible] = ["id": 1, "title": "new", "minutes": 3]
    let options = MergeOptions(mode: .upsertOnly, pendingEdits: .conflict)
    #expect(try merge([("Song", song)], into: stack, options: options) == MergeResult.with(skipped: 1))
    #expect(source.decisions.map(\.conflicting) == [["title"]])
    #expect(source.decisions.first?.serverValues == ["id": .int(1), "title": .string("new")])
    #expect(try works(stack) == [1: ["Poem", "edited"]])
  }

  @Test(arguments: Backend.available)
  func `an object of the common entity changes the record of a subentity in its own attributes alone`(
    backend: Backend
  ) throws {
    let stack = try stack(backend)
    _ = try merge([("Song", ["id": 1, "title": "a", "minutes": 3])], into: stack)
    let work: [String: any AttributeConvertible] = ["id": 1, "title": "new"]
    #expect(try merge([("Work", work)], into: stack) == MergeResult.with(updated: 1))
    #expect(try merge([("Work", work)], into: stack) == MergeResult.with(unchanged: 1))
    #expect(try works(stack) == [1: ["Song", "new"]])
    #expect(try stack.values(of: "Song", "minutes", by: "id", as: (Int64, Int64).self) == [1: 3])
  }
}
