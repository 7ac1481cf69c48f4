import CoherenceCore
import CoherenceOutbox
import TestSupport
import Testing

/// The cost of a forwarder without an edit to send, and of a single edit.
@Suite("Idle forwarders")
struct ForwardingIdleTests {
  @Test(arguments: Backend.available)
  func `an idle forwarder neither reads nor saves while time passes`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    let operations = OperationLog()
    stack.outbox.coordinator.observer = operations
    try stack.outbox.start(stack.options())
    try stack.insertNote("A")
    for _ in 0..<3 { #expect(try await stack.outbox.flush() == 0) }
    let (known, searchesBefore) = (operations.count(.fetch), stack.outbox.statistics.searches)
    for _ in 1...1000 {
      #expect(stack.time.sleeperCount == 0)
      stack.time.advance(by: .seconds(3600))
    }
    // Each flush searches once. The two listeners ask for a search when they begin to listen, which may be after the
    // first flush.
    for _ in 0..<2 { #expect(try await stack.outbox.flush() == 0) }
    let searches = stack.outbox.statistics.searches - searchesBefore
    #expect((2...4).contains(searches))
    // A search reads the log to make entries, then the rest of the log and the entries in one state of the store.
    #expect(operations.count(.fetch) - known <= 3 * searches)
    await stack.outbox.stop()
  }

  @Test(arguments: Backend.available)
  func `an edit costs one search, and neither its claim nor its acknowledgement asks for another`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    let operations = OperationLog()
    stack.outbox.coordinator.observer = operations
    try stack.outbox.start(stack.options(concurrency: 4, lookahead: 8))
    #expect(try await stack.outbox.flush() == 0)
    var events = stack.outbox.events.makeAsyncIterator()
    let searchesBefore = stack.outbox.statistics.searches
    let (fetches, saves) = (operations.count(.fetch), operations.count(.save))
    let edits = 20
    for number in 0..<edits {
      try stack.insertNote("\(number)")
      while let event = await events.next() { if case .idle = event { break } }
    }
    // The two listeners may begin to listen after the flush, and each asks for a search at its beginning.
    let searches = stack.outbox.statistics.searches - searchesBefore
    #expect((edits...edits + 2).contains(searches))
    // A search reads the log twice, and the entries. An edit reads its values. A new key reads the log, the entries, and
    // the copies with the key. The first acknowledgement looks for expired confirmations with two more reads.
    #expect(operations.count(.fetch) - fetches <= 3 * searches + 4 * edits + 2)
    // Each edit has four saves: by the user, to make the entry, for the claim, and for the acknowledgement.
    #expect(operations.count(.save) - saves == 4 * edits)
    await stack.outbox.stop()
  }
}
