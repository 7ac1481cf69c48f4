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

  @Test func `a process has confirmations since a time until they have expired`() {
    let start = ContinuousClock.now
    let all = Confirmations()
    #expect(!all.hasAny(since: start))
    all.add([])
    #expect(!all.hasAny(since: start))
    all.add(confirmations(1, of: 10))
    let later = ContinuousClock.now + .seconds(1)
    #expect(all.hasAny(since: start) && !all.hasAny(since: later))
    #expect(kept(all, since: start).count == 1 && kept(all, since: later).isEmpty)
    let none = Confirmations(limit: 0)
    none.add(confirmations(1, of: 10))
    #expect(!none.hasAny(since: start) && kept(none, since: start).isEmpty)
  }

  @Test func `the memory of a confirmation grows with its former values and members, until it expires`() {
    var confirmation = confirmations(1, of: 100)[0]
    #expect(confirmation.memorySize == 256 + 164)
    confirmation.add(.value(.string("twelve bytes")), "photo")
    confirmation.add(.value(.int(7)), "count")
    #expect(confirmation.memorySize == 256 + 164 + 76 + 64)
    let (one, two) = (OutboxRecord(rootName: "Tag", key: 1), OutboxRecord(rootName: "Tag", key: 2))
    var linked = Confirmation(
      of: confirmation.subject, entityName: "Item", .update,
      [OutboxMembers("tags", added: [one, two], removed: [one]), OutboxMembers("lists", added: [two])], [:])
    #expect(linked.memorySize == 256 + (64 + 3 * 48) + (64 + 48))
    linked.releaseValues()
    confirmation.releaseValues()
    #expect(linked.memorySize == 256 && linked.members.isEmpty)
    #expect(confirmation.memorySize == 256 && confirmation.outdated.isEmpty)
  }

  @Test func `large values are left out of a confirmation by name, and its small values stay`() {
    var confirmation = confirmations(1, of: 40_000)[0]
    confirmation.add(.value(.data(Data([1]))), "photo")
    confirmation.add(.value(.int(7)), "count")
    confirmation.add(.value(.data(Data(repeating: 7, count: 32_769))), "drawing")
    confirmation.add(.value(.data(Data(repeating: 7, count: 32_768))), "sketch")
    confirmation.omitLargeValues()
    #expect(confirmation.omittedNames == ["photo", "drawing"])
    #expect(Set(confirmation.outdated.keys) == ["photo", "count", "sketch"])
    #expect(confirmation.outdated["photo"] == [.value(.data(Data([1])))])
  }

  /// The first request of some entries.
  private func step(_ entries: OutboxEntry...) throws -> OutboxStep {
    try #require(OutboxPlan(entries: entries).steps.first)
  }

  private func change(_ name: String, _ base: Int64?, _ value: Int64?) -> OutboxChange {
    OutboxChange(name, base: base.map { .value(.int($0)) }, value: value.map { .value(.int($0)) })
  }

  @Test func `the confirmation of an update has the values before its last ones, and those of other edits have none`()
    throws
  {
    let edits = try step(
      SampleEntries.entry(.update, 1, changes: [change("a", 1, 2), change("b", 5, 6)], identity: ["id": .int(4)]),
      SampleEntries.entry(.update, 2, changes: [change("a", 2, 3)]))
    let update = try #require(Confirmation(of: edits))
    #expect(update.kind == .update && update.entityName == "TestItem" && update.identity == ["id": .int(4)])
    #expect(update.subject.record == SampleEntries.item(1) && update.omittedNames.isEmpty)
    let former: [String: [OutboxValue]] = [
      "a": [.value(.int(1)), .value(.int(2)), .value(.int(2))], "b": [.value(.int(5))],
    ]
    #expect(update.outdated == former)
    let insertion = try step(SampleEntries.entry(.insert, 1, changes: [change("a", nil, 1)]))
    let deletion = try step(SampleEntries.entry(.delete, 1, changes: [change("a", 1, nil)]))
    let insert = try #require(Confirmation(of: insertion))
    let delete = try #require(Confirmation(of: deletion))
    #expect(insert.kind == .insert && insert.outdated.isEmpty)
    #expect(delete.kind == .delete && delete.outdated.isEmpty)
  }

  @Test func `the confirmation of a conflict has the bases that the server has replaced, and the replaced values`()
    throws
  {
    let edit = try step(
      SampleEntries.entry(.update, 1, changes: [change("a", 1, 2), change("b", 1, 2), change("c", 1, 2)]))
    let confirmation = try #require(
      Confirmation(ofConflictOver: edit, ["a": .int(5), "b": .int(1)], replacing: ["d": .value(.int(9))]))
    #expect(confirmation.kind == .update && confirmation.members.isEmpty)
    let former: [String: [OutboxValue]] = ["a": [.value(.int(1))], "d": [.value(.int(9))]]
    #expect(confirmation.outdated == former)
    let insert = try step(SampleEntries.entry(.insert, 1, changes: [change("a", nil, 1)]))
    let ofInsert = try #require(Confirmation(ofConflictOver: insert, ["a": .int(5)], replacing: [:]))
    #expect(ofInsert.kind == .update && ofInsert.outdated.isEmpty)
    let delete = try step(SampleEntries.entry(.delete, 1, changes: [change("a", 1, nil)]))
    let ofDelete = Confirmation(ofConflictOver: delete, ["a": .int(5)], replacing: ["a": .value(.int(1))])
    let isLeftOut = ofDelete == nil
    #expect(isLeftOut)
  }
}
