import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

/// Merges that delete records behind whose cascades a staying record requires a record.
@Suite("Records that the staying records of a merge require")
struct RequiredRecordTests {
  /// Folders with notes, which need their folder and a person. The persons are deleted with their team.
  private static func teams(isRequired: Bool) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Box", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
      }
      Entity("Team", parent: "Box") {
        Relationship("people", toMany: "Person", inverse: "team", deleteRule: .cascade)
      }
      Entity("Folder", parent: "Box") {
        Relationship("contents", toMany: "Note", inverse: "folder", deleteRule: .cascade)
      }
      Entity("Person", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
        Relationship("team", toOne: "Team", inverse: "people", optional: !isRequired)
        Relationship("notes", toMany: "Note", inverse: "author")
      }
      Entity("Note", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
        Relationship("folder", toOne: "Folder", inverse: "contents", optional: false)
        Relationship("author", toOne: "Person", inverse: "notes", optional: false)
      }
    }
  }

  @Test(arguments: Backend.available, [false, true])
  func `a record that a staying record requires stays behind a cascade that leads to no other staying record`(
    backend: Backend, isRequired: Bool
  ) throws {
    let source = ScriptedEdits(["Note"])
    let stack = try MergeStack(backend, try Self.teams(isRequired: isRequired))
    let noteID = try stack.connect.newBackgroundContext().saving { context in
      let names = ["Team", "Person", "Person", "Folder", "Note"]
      let objects = try names.map { try context.insertNewObject(forEntityName: $0) }
      for (object, id) in zip(objects, 1...Int64(5)) { try object.setValue(id, for: "id") }
      for person in objects[1...2] { try person.setObject(objects[0], for: "team") }
      try objects[4].setObject(objects[1], for: "author")
      try objects[4].setObject(objects[3], for: "folder")
      try context.obtainPermanentIDs(for: [objects[4]])
      return objects[4].objectID
    }
    source.add(PendingEdit(of: noteID, .update, changed: ["title"], base: ["title": .string("old")]))
    stack.connect.pendingEdits = source
    let options = MergeOptions(mode: .replace, includesSubentities: true, maximumDeletedShare: 1)
    let result = try stack.merge([], into: "Box", options: options)
    let counts = isRequired ? MergeResult.with(skipped: 2) : MergeResult.with(deleted: 1, skipped: 1)
    #expect(result.counts == counts)
    func ids(_ name: String) throws -> [Int64] {
      let titles: [Int64: String] = try stack.values(of: name, "title", by: "id")
      return titles.keys.sorted()
    }
    #expect(try ids("Box") == (isRequired ? [1, 4] : [4]))
    #expect(try ids("Person") == (isRequired ? [2, 3] : [2]))
    #expect(try ids("Note") == [5])
  }
}
