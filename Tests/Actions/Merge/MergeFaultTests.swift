import CoherenceActions
import CoherenceCore
import Testing
import TestSupport

@Suite("Failures during merges")
struct MergeFaultTests {
  private func artists(_ ids: some Sequence<Int>, _ name: String) -> [MergeRecord] {
    ids.map { MergeRecord(["id": $0, "name": "\(name) \($0)"]) }
  }

  /// Artists, one of which runs a closure when the merge reads its note.
  private func artists(_ count: Int, _ name: String, probe: @escaping @Sendable () -> Void) -> [MergeRecord] {
    var records = artists(0..<count, name)
    records[count / 2].values["note"] = ProbedText(text: "", probe: probe)
    return records
  }

  @Test(arguments: Backend.available)
  func `a merge whose action is cancelled while it reads changes nothing`(backend: Backend) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(0..<2000, "old"), into: "Artist")
    let script = MockScript(waits: true)
    let records = artists(2000, "new") { try? script.run() }
    let entity = try stack.entity("Artist")
    let proxy = try stack.connect.execute(
      ClosureAction(MergedArtist.self) { context in try context.merge(records: records, for: entity) })
    await script.untilBegun()
    proxy.cancel()
    script.release()
    try await proxy.waitUntilFinished()
    #expect(proxy.completionStatus == .canceled)
    #expect(try stack.names().allSatisfy { $0.value == "old \($0.key)" })
    #expect(try stack.merge(artists(0..<2000, "old"), into: "Artist").unchanged == 2000)
  }

  @Test(arguments: Backend.available)
  func `a merge whose task is cancelled while it reads changes nothing`(backend: Backend) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(0..<2000, "old"), into: "Artist")
    let entity = try stack.entity("Artist")
    let merging = Task {
      let cancel = Once { withUnsafeCurrentTask { $0?.cancel() } }
      try stack.connect.newActionContext().merge(records: artists(2000, "new") { cancel() }, for: entity)
    }
    await #expect { try await merging.value } throws: { ErrorCode.cancelled ~= $0 }
    #expect(try stack.names().allSatisfy { $0.value == "old \($0.key)" })
  }

  @Test(arguments: Backend.available)
  func `a context stays usable after a merge failed while it read`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(0..<2000, "old"), into: "Artist")
    var records = artists(0..<2000, "new")
    records[1000].values["note"] = 17
    let context = stack.connect.newActionContext()
    try context.performAndWait { () throws in
      #expect { try context.merge(records: records, for: try stack.entity("Artist")) } throws: {
        ErrorCode.wrongType ~= $0
      }
      #expect(!context.hasChanges)
      #expect(try stack.objects("Artist", context).count == 2000)
      #expect(try context.merge(records: artists(0..<2000, "new"), for: try stack.entity("Artist")).updated == 2000)
    }
  }

  @Test(arguments: Backend.available)
  func `a merge throws when its store is detached during the merge`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(0..<10, "old"), into: "Artist")
    let connect = stack.connect
    let store = stack.store
    let detach = Once { try? connect.detach(persistentStore: store) }
    let context = connect.newActionContext()
    #expect(throws: CoherenceError.self) {
      try context.merge(records: artists(10, "new") { detach() }, for: try stack.entity("Artist"))
    }
    #expect(context.performAndWait { !context.hasChanges })
  }

  @Test(arguments: Backend.available)
  func `a save of another writer during a merge is a conflict, which the context's merge policy resolves`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(0..<10, "old"), into: "Artist")
    let other = stack.connect.newBackgroundContext()
    func records() -> [MergeRecord] {
      let interfere = Once {
        try? other.performAndWait {
          for artist in try stack.objects("Artist", other) {
            let id = try artist.value(for: "id", as: Int32.self)
            if id == 1 { try artist.setValue("theirs", for: "note") }
          }
          try other.save()
        }
      }
      return artists(10, "new") { interfere() }
    }
    let result = try stack.merge(records(), into: "Artist")
    #expect(result.conflicts == 1 && result.updated == 10)
    let notes: [Int32: String?] = try stack.values(of: "Artist", "note", by: "id")
    #expect(notes[1] == "theirs")
    #expect(try stack.names()[1] == "new 1")
  }

  @Test(arguments: Backend.available)
  func `changes that the merge policy gives up do not count as updated or deleted`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(0..<10, "old"), into: "Artist")
    let other = stack.connect.newBackgroundContext()
    let interfere = Once {
      try? other.performAndWait {
        for artist in try stack.objects("Artist", other) { try artist.setValue("theirs", for: "name") }
        try other.save()
      }
    }
    let context = stack.connect.newActionContext()
    context.mergePolicy = .rollback
    let result = try context.merge(
      records: artists(10, "new") { interfere() }, for: try stack.entity("Artist"))
    #expect(result.conflicts == 10 && result.updated == 0)
    #expect(try stack.names().values.allSatisfy { $0 == "theirs" })
  }

  @Test func `a refused merge keeps the context's other changes`() throws {
    let stack = try MergeStack(.inMemory)
    let context = stack.connect.newActionContext()
    try context.performAndWait {
      let artist = try context.insertNewObject(forEntityName: "Artist")
      try artist.setValue(Int32(7), for: "id")
      #expect(throws: CoherenceError.self) {
        try context.merge(records: [MergeRecord(["id": "x"])], for: try stack.entity("Artist"))
      }
      #expect(context.insertedObjects == [artist])
      #expect(
        try context.merge(
          records: [MergeRecord(["id": 7, "name": "Ada"])], for: try stack.entity("Artist")
        ).counts == MergeResult.with(updated: 1))
    }
    #expect(try stack.names() == [7: "Ada"])
  }
}
