import CoherenceCore
import CoherenceOutbox
import TestSupport
import Testing

/// The forwarding of a save with thousands of records.
@Suite("Forwarding of a large save", .timeLimit(.minutes(15)))
struct ForwardingLargeSaveTests {
  private static let folderCount = 30
  private static let noteCount = 1_600

  /// Inserts folders and notes in one save.
  private func fill(_ stack: NoteStack) throws {
    try stack.edit { context in
      let folders = try (0..<Self.folderCount).map { number in
        let folder = try NoteFolder(context: context)
        (folder.id, folder.name) = ("local-folder-\(number)", "\(number)")
        return folder
      }
      for number in 0..<Self.noteCount {
        let note = try Note(context: context)
        (note.id, note.title) = ("local-\(number)", "\(number)")
        // The other notes have no folder, and can be sent before any.
        if number.isMultiple(of: 2) { note.folder = folders[number % Self.folderCount] }
      }
    }
  }

  @Test(arguments: Backend.available)
  func `every record is sent once, after its folder`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    try fill(stack)
    #expect(try await stack.forwardAll(stack.options(concurrency: 4, lookahead: 8)) == 0)
    let calls = await stack.server.calls
    #expect(calls.count == Self.folderCount + Self.noteCount)
    #expect(calls.allSatisfy { $0.attempt == 1 && $0.kind == .insert })
    let records = await stack.server.records
    #expect(records.values.count { $0.folder != .null } == Self.noteCount / 2)
  }

  @Test(arguments: Backend.available)
  func `the number of read rows grows with the number of requests`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    try fill(stack)
    let operations = OperationLog()
    stack.outbox.coordinator.observer = operations
    #expect(try await stack.forwardAll(stack.options(concurrency: 4, lookahead: 8)) == 0)
    // Some twenty searches read the entries that are left, 800 on average, and each request reads its entries and its
    // record several times. A search for each eight requests would read 160,000 rows.
    #expect(operations.records("fetched", of: .fetch).reduce(0, +) < 60_000)
  }
}
