import CoherenceCore
import Foundation
import Testing

@testable import CoherenceOutbox

// The name is also one of the testing library.
private typealias Confirmation = CoherenceOutbox.Confirmation

/// The memory of the confirmations of a process.
@Suite("Limits of confirmations")
struct ConfirmationLimitTests {
  /// Confirmations of updates whose photos had a number of bytes before.
  private func confirmations(_ count: Int, of size: Int) -> [Confirmation] {
    (0..<count).map { number in
      let subject = Confirmation.Subject(
        store: StoreIdentifier("store"), record: OutboxRecord(rootName: "Item", key: Int64(number)))
      var confirmation = Confirmation(of: subject, entityName: "Item", .update, [], [:])
      confirmation.add(.value(.data(Data(repeating: 7, count: size))), "photo")
      return confirmation
    }
  }

  /// The kept confirmations, the oldest first.
  private func kept(_ confirmations: Confirmations, since time: ContinuousClock.Instant) -> [Confirmation] {
    confirmations.since(time) { _ in true }.reversed()
  }

  @Test func `beyond the memory limit, the oldest confirmations lose their values over 32 KB, and stay`() {
    let start = ContinuousClock.now
    let all = Confirmations(memoryLimit: 100_000)
    for confirmation in confirmations(4, of: 40_000) { all.add([confirmation]) }
    let kept = kept(all, since: start)
    #expect(kept.map(\.subject.record.key) == [0, 1, 2, 3])
    #expect(kept.map(\.omittedNames) == [["photo"], ["photo"], [], []])
    #expect(kept.map { $0.outdated["photo"]?.count } == [nil, nil, 1, 1])
  }

  @Test func `beyond the memory limit, confirmations without large values expire, the oldest first`() {
    let start = ContinuousClock.now
    let all = Confirmations(memoryLimit: 100_000)
    all.add(confirmations(5, of: 30_000))
    #expect(kept(all, since: start).map(\.subject.record.key) == [2, 3, 4])
    #expect(kept(all, since: start).allSatisfy { $0.outdated["photo"]?.count == 1 && $0.omittedNames.isEmpty })
    all.add(confirmations(1, of: 200_000))
    #expect(kept(all, since: start).map(\.subject.record.key) == [2, 3, 4, 0])
    #expect(kept(all, since: start).last?.omittedNames == ["photo"])
  }

  @Test func `the number of confirmations is limited, and expired ones are removed in between`() {
    let start = ContinuousClock.now
    let all = Confirmations(limit: 3, memoryLimit: 1_000_000)
    for confirmation in confirmations(20, of: 40_000) { all.add([confirmation]) }
    #expect(kept(all, since: start).map(\.subject.record.key) == [17, 18, 19])
    #expect(kept(all, since: start).allSatisfy { $0.omittedNames.isEmpty })
  }
}
