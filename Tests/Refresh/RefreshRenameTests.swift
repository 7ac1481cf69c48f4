import CoherenceActions
import CoherenceCore
import CoherenceRefresh
import TestSupport
import Testing

@Suite("Refreshes of renamed entities", .timeLimit(.minutes(15)))
struct RefreshRenameTests {
  /// The model of a later version of the program, in which songs are tracks.
  private func renamedModel(formerNames: [String] = ["Song"]) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Track", class: Song.self, formerNames: formerNames, userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
      }
      Entity("Genre", uniqueness: [["name"]]) { Attribute("name", .string) }
      Entity("Note") { Attribute("text", .string, default: "") }
    }
    .addingRefreshStatus()
  }

  /// Registers the changes of songs, in pages of one song whose cursor is given.
  private func register(_ source: Source, cursor: String, in program: Program) throws {
    try program.refresher.register(changesOf: Song.self) { request in
      let number = try await source.enter(request)
      return DeltaPage(records: [MergeRecord(["id": number, "title": "\(number)"])], cursor: cursor)
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `the refresh of a renamed entity continues with the status and the cursor of the former name`(
    backend: Backend
  ) async throws {
    var place = try Place(backend)
    let source = Source()
    let former = try place.program()
    try register(source, cursor: "a", in: former)
    try await former.refresher.refresh(Song.self)
    try await former.end()

    place.model = try renamedModel()
    let program = try place.program()
    try register(source, cursor: "b", in: program)
    let fresh = try #require(try await program.refresher.status(of: Song.self))
    #expect(fresh.name == "Track" && fresh.cursor == "a")
    #expect(try await program.refresher.statuses() == [fresh])
    #expect(try await program.refresher.refresh(Song.self, onlyIfStale: true) == fresh)

    let status = try await program.refresher.refresh(Song.self)
    #expect(status.name == "Track" && status.cursor == "b")
    #expect(try await program.refresher.statuses() == [status])
    #expect(source.cursors == [nil, "a"])
    #expect(try await program.titles() == ["1", "2"])
    try await program.end()
  }

  @Test func `of the statuses of a scope with former names of its entity, that of the latest name counts`()
    async throws
  {
    var place = try Place()
    place.model = try renamedModel(formerNames: ["Song", "Tune"])
    let program = try place.program()
    let context = program.connect.newBackgroundContext()
    try context.performAndWait {
      for (name, scope, cursor) in [
        ("Tune", "a", "1"), ("Song", "a", "2"), ("Tune", "b", "3"), ("Song", "b", "4"), ("Track", "b", "5"),
        ("Tune", "", "6"), ("Genre", "", "7"), ("Lost", "", "8"),
      ] {
        let record = try context.insertNewObject(forEntityName: RefreshStatus.entityName)
        for (key, value) in ["name": name, "type": "list", "scope": scope, "cursor": cursor] {
          try record.setValue(value, for: key)
        }
      }
      try context.save()
    }
    let statuses = try await program.refresher.statuses()
    #expect(statuses.map(\.name) == ["Genre", "Lost", "Track", "Track", "Track"])
    #expect(statuses.map(\.scope) == [nil, nil, nil, "a", "b"])
    #expect(statuses.map(\.cursor) == ["7", "8", "6", "2", "5"])
    for (scope, cursor) in [(nil, "6"), ("a", "2"), ("b", "5")] as [(String?, String)] {
      #expect(try await program.refresher.status(of: Song.self, scope: scope)?.cursor == cursor)
    }
    try await program.end()
  }
}
