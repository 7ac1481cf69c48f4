import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

/// The checks between the plan of a merge and its commit.
@Suite("Commits of merges")
struct MergeCommitTests {
  @Test(arguments: Backend.available, [false, true])
  func `beside a merge, the context's policy resolves a conflict over a record that the merge does not change`(
    backend: Backend, hasPendingEdits: Bool
  ) throws {
    let stack = try MergeStack(backend)
    try stack.merge(MergeStack.artists([1: "old", 3: "old"]), into: "Artist")
    if hasPendingEdits { stack.connect.pendingEdits = ScriptedEdits() }
    try stack.interfere { try $0.artist(3)?.setValue("theirs", for: "name") }
    let context = stack.connect.newActionContext()
    let result = try context.performAndWait {
      try context.artist(3)?.setValue("mine", for: "name")
      return try context.merge(
        records: MergeStack.artists([1: "new"]), for: try stack.entity("Artist"),
        condition: try FetchPredicate(format: "name == 'old'"))
    }
    #expect(result.counts == MergeResult.with(updated: 1))
    #expect(try stack.names() == [1: "new", 3: "mine"])
  }

  @Test(arguments: Backend.available)
  func `a record to delete whose key another writer changes is deleted only if the input lacks the new key`(
    backend: Backend
  ) throws {
    // A record without a key stays, the record 3 gets the values of the input, and the record 7 is deleted.
    for (key, name) in [(nil, "old"), (3, "new"), (7, nil)] as [(Int32?, String?)] {
      let stack = try MergeStack(backend)
      try stack.merge(MergeStack.artists([1: "old", 2: "two"]), into: "Artist")
      let id = try stack.artistID(1)
      try stack.interfere { try $0.artist(1)?.setValue(key, for: "id") }
      try stack.merge(MergeStack.artists([2: "two", 3: "new"]), into: "Artist")
      let stored = try stack.read { context in
        try stack.objects("Artist", context).first { $0.objectID == id }?.value(for: "name", as: String.self)
      }
      #expect(stored == name, "\(String(describing: key))")
    }
  }

  @Test(arguments: Backend.available)
  func `a merge whose action is cancelled after the plan saves nothing`(backend: Backend) async throws {
    let script = MockScript(waits: true)
    let source = ScriptedEdits { _ in try script.run() }
    let stack = try MergeStack.pending(backend, source, names: [1: "edited", 2: "old"])
    source.add(try stack.renamed(1, from: "old"))
    let entity = try stack.entity("Artist")
    let proxy = try stack.connect.execute(
      ClosureAction(MergedArtist.self) { context in
        try context.merge(
          records: MergeStack.artists([1: "new", 2: "new"]), for: entity,
          options: MergeOptions(pendingEdits: .conflict))
      })
    await script.untilBegun()
    proxy.cancel()
    script.release()
    try await proxy.waitUntilFinished()
    #expect(proxy.completionStatus == .canceled)
    #expect(try stack.names() == [1: "edited", 2: "old"])
  }
}
