import CoherenceCore
import Foundation
import TestSupport
import Testing

@testable import CoherenceOutbox

/// Delays of entries that end while another program changes the entries.
@Suite("Ended delays")
struct EndedDelayTests {
  private static func entries(in context: ManagedObjectContext) throws -> [OutboxEntryRecord] {
    try context.fetch(FetchRequest(OutboxEntryRecord.self).sort(\.sequence))
  }

  /// Moves the next attempt of the first entry by an unnoticeable time, so that the save of another program is in
  /// conflict.
  private static func touchFirstEntry(of outbox: Outbox, around end: Date) throws {
    let context = outbox.newContext()
    try context.performAndWait {
      guard let entry = try entries(in: context).first else { return }
      entry.nextAttempt = entry.nextAttempt == end ? end.addingTimeInterval(0.0005) : end
      try context.save()
    }
  }

  @Test(arguments: Backend.available)
  func `an entry that another program keeps changing stays overdue, and the other entries become due`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let other = try stack.another().outbox
    for title in ["Milk", "Bread"] { try stack.saveItem(title) }
    let ids = try await stack.outbox.entries().map(\.id)
    let end = stack.clock.now.addingTimeInterval(60)
    let context = stack.outbox.newContext()
    try context.performAndWait {
      for entry in try Self.entries(in: context) { entry.nextAttempt = end }
      try context.save()
    }
    // Both entries lose ten races together, and the first one loses ten more alone.
    stack.outbox.coordinator.observer = SaveInterference(times: 25, reportingTo: { Issue.record($0) }) {
      try Self.touchFirstEntry(of: other, around: end)
    }
    let later = stack.outbox.newContext()
    let overdue = try later.performAndWait {
      try stack.outbox.endDelays([ids[0]: end, ids[1]: end], in: later)
    }
    #expect(overdue == [ids[0]: end])
    let entries = try await stack.outbox.entries()
    #expect(entries[0].nextAttemptDate != nil && entries[1].nextAttemptDate == nil)
    // The next search ends the delay that the other program has kept.
    stack.outbox.coordinator.observer = nil
    let last = stack.outbox.newContext()
    let remaining = try last.performAndWait { try stack.outbox.endDelays(overdue, in: last) }
    #expect(remaining.isEmpty)
    #expect(try await stack.outbox.entries().map(\.nextAttemptDate) == [nil, nil])
  }
}
