import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// Answers with values whose save ends in an error that is neither a failure of the store nor a known refusal.
@Suite("Forwarding: settlements that fail each time", .timeLimit(.minutes(15)))
struct RefusedSettlementTests {
  /// The pattern backtracks without end in texts such as ``endless``, so that the validation has no result.
  private static let model = Result {
    try ManagedObjectModel {
      Entity("Memo") {
        Attribute("title", .string)
        Attribute("code", .string, optional: true, validation: [.pattern("(?=.)(a+)+$")])
      }
    }.addingOutbox()
  }
  private static let endless = String(repeating: "a", count: 40) + "?"

  @Test(arguments: Backend.available)
  func `an answer whose settlement fails twice is parked, and holds no other answer back`(
    _ backend: Backend
  ) async throws {
    let directory = TemporaryDirectory()
    let connect = try NoteConnect(name: "Memos", managedObjectModel: Self.model.get(), storeLocation: directory.url)
    try connect.attachPersistentStore(for: backend.newConfiguration())
    let outbox = try Outbox(connect, entities: ["Memo"])
    try outbox.forward("Memo") { handlers in
      handlers.insert { request in
        guard request["title"] == .string("B") else { return .accepted }
        return .accepted(["code": Self.endless])
      }
    }
    try await connect.start()
    let context = connect.newBackgroundContext()
    for title in ["A", "B", "C"] {
      try context.performAndWait {
        try context.insertNewObject(forEntityName: "Memo").setValue(title, for: "title")
        try context.save()
      }
    }
    var events = outbox.events.makeAsyncIterator()
    let retry = RetryPolicy(attempts: 100, initialDelay: .zero, jitter: 0)
    try outbox.start(ForwardOptions(concurrency: 3, retry: retry))
    var (accepted, parked, failures) = (0, 0, 0)
    while accepted + parked < 3, failures < 10, let event = await events.next() {
      switch event {
      case .accepted: accepted += 1
      case .parked: parked += 1
      case .failed: failures += 1
      default: break
      }
    }
    await outbox.stop(.cancel)
    #expect(accepted == 2 && parked == 1 && failures == 1)
    let left = try await outbox.entries()
    #expect(left.map { $0["title"]?.value } == [.value(.string("B"))])
    #expect(left.first?.state == .parked && left.first?.lastError?.hasPrefix("limitExceeded") == true)
  }
}
