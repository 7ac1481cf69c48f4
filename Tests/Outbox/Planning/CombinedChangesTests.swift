import CoherenceCore
import Foundation
import Testing

@testable import CoherenceOutbox

/// The members and the large values of a request that combines several entries.
@Suite("Combined changes of a request")
struct CombinedChangesTests {
  private let large = OutboxValue.omitted(byteCount: 40_000)
  private let one = SampleEntries.item(1)
  private let two = SampleEntries.item(2)
  private let three = SampleEntries.item(3)

  private func change(_ name: String, _ base: Int64?, _ value: Int64?) -> OutboxChange {
    OutboxChange(name, base: base.map { .value(.int($0)) }, value: value.map { .value(.int($0)) })
  }

  /// The request of updates with the given changes of members, one list for each update.
  private func members(_ updates: [OutboxMembers]...) -> [OutboxMembers] {
    let entries = updates.enumerated().map { index, members in
      SampleEntries.entry(.update, Int64(index + 1), members: members)
    }
    return OutboxPlan(entries: entries).steps.flatMap(\.members)
  }

  /// The first request of some entries.
  private func step(_ entries: OutboxEntry...) throws -> OutboxStep {
    try #require(OutboxPlan(entries: entries).steps.first)
  }

  // MARK: Members

  @Test func `a relationship that one of several entries has reordered is sent as reordered`() {
    let reordered = OutboxMembers("tags", isReordered: true)
    let added = OutboxMembers("tags", added: [one])
    let expected = [OutboxMembers("tags", added: [one], isReordered: true)]
    #expect(members([reordered], [added]) == expected)
    #expect(members([added], [reordered]) == expected)
    #expect(members([added], [added]) == [added])
    // The order stays changed though the members are the former ones again.
    #expect(members([reordered], [added], [OutboxMembers("tags", removed: [one])]) == [reordered])
    #expect(members([added], [OutboxMembers("tags", removed: [one], isReordered: true)]) == [reordered])
  }

  @Test func `the changes of two relationships are combined by themselves`() {
    let combined = members(
      [OutboxMembers("tags", added: [three]), OutboxMembers("friends", added: [three])],
      [OutboxMembers("friends", added: [one], isOwner: false), OutboxMembers("tags", removed: [two])],
      [OutboxMembers("tags", removed: [three])])
    #expect(combined == [OutboxMembers("tags", removed: [two]), OutboxMembers("friends", added: [one, three])])
  }

  @Test func `combined members are sorted by hierarchy and key, and the members of a single entry stay as recorded`() {
    let other = OutboxRecord(rootName: "Other", key: 9)
    let recorded = OutboxMembers("tags", added: [three, one], removed: [two, other])
    #expect(members([recorded]) == [recorded])
    #expect(
      members([recorded], [OutboxMembers("tags")]) == [
        OutboxMembers("tags", added: [one, three], removed: [other, two])
      ])
  }

  // MARK: Large values

  @Test func `an update may be empty if its entries have restored the sizes of its only values`() throws {
    let cleared = SampleEntries.entry(.update, 1, changes: [OutboxChange("photo", base: large, value: .value(.null))])
    let restored = SampleEntries.entry(.update, 2, changes: [OutboxChange("photo", base: .value(.null), value: large)])
    #expect(try step(cleared, restored).mayBeEmptyUpdate)
    // The one save of a single entry has another value of the same size.
    let replaced = SampleEntries.entry(.update, 1, changes: [OutboxChange("photo", base: large, value: large)])
    #expect(try !step(replaced).mayBeEmptyUpdate)
    let smaller = OutboxChange("photo", base: .value(.null), value: .omitted(byteCount: 39_999))
    #expect(try !step(cleared, SampleEntries.entry(.update, 2, changes: [smaller])).mayBeEmptyUpdate)
    let retitled = SampleEntries.entry(.update, 3, changes: [change("count", 1, 2)])
    #expect(try !step(cleared, restored, retitled).mayBeEmptyUpdate)
    let tagged = SampleEntries.entry(.update, 3, members: [OutboxMembers("tags", added: [one])])
    #expect(try !step(cleared, restored, tagged).mayBeEmptyUpdate)
    let attempted = SampleEntries.entry(
      .update, 1, changes: [OutboxChange("photo", base: large, value: .value(.null))], groupEnd: 2)
    #expect(try !step(attempted, restored).mayBeEmptyUpdate)
  }

  @Test func `a request with its large values has the changes, the kind and the left out references of before`() throws
  {
    let photo = OutboxValue.value(.data(Data(repeating: 1, count: 40_000)))
    var request = try step(
      SampleEntries.entry(.update, 1, changes: [change("count", 1, 2), OutboxChange("photo", value: large)]),
      SampleEntries.entry(.update, 2, changes: [change("count", 2, 1)]))
    request.deferredReferences = [two]
    #expect(request.changes == [OutboxChange("photo", value: large)])
    // An edit of the second entry since the search has no effect on the properties of the request.
    let whole = request.withValues(of: [
      SampleEntries.entry(.update, 1, changes: [change("count", 1, 2), OutboxChange("photo", value: photo)]),
      SampleEntries.entry(.update, 2, changes: [change("count", 2, 7)]),
    ])
    #expect(whole.changes == [OutboxChange("photo", value: photo)])
    #expect(whole.kind == .update && whole.deferredReferences == [two])
    #expect(whole.idempotencyKey == SampleEntries.key(1) && whole.groupEnd == 2)
  }

  @Test func `a deletion with its large values is still one of a record that the server may not have`() throws {
    for groupEnd in [nil, 1] as [Int64?] {
      let kind: OutboxEntryKind = groupEnd == nil ? .update : .insert
      let entries = [
        SampleEntries.entry(kind, 1, changes: [change("count", nil, 1)], groupEnd: groupEnd),
        SampleEntries.entry(.delete, 2, changes: [change("count", 1, nil)]),
      ]
      let request = try #require(OutboxPlan(entries: entries).steps.first)
      let whole = request.withValues(of: entries)
      #expect(whole.kind == .delete && whole.mayBeUnknownToServer == (groupEnd != nil))
      #expect(whole.mayBeUnknownToServer == request.mayBeUnknownToServer && whole.changes == request.changes)
    }
    let insert = try step(SampleEntries.entry(.insert, 1, changes: [change("count", nil, 1)]))
    #expect(insert.withValues(of: insert.entries).kind == .insert)
  }

  // MARK: Unknown properties

  @Test func `a request has unknown properties if it has new values or members of them, and a deletion has none`()
    throws
  {
    let value = OutboxValue.value(.int(1))
    let unknown = OutboxChange(name: "gone", recordedName: "gone", isKnown: false, base: value, value: .value(.int(2)))
    let members = OutboxMembers(
      name: "gone", recordedName: "gone", isKnown: false, added: [one], removed: [], isReordered: false, isOwner: true)
    let known = SampleEntries.entry(
      .update, 1, changes: [change("count", 1, 2)], members: [OutboxMembers("tags", added: [one])])
    #expect(try !step(known).hasUnknownProperties && known.unknownProperties.isEmpty)
    let changed = SampleEntries.entry(.update, 2, changes: [unknown])
    #expect(try step(known, changed).hasUnknownProperties && changed.unknownProperties == ["gone"])
    let linked = SampleEntries.entry(.update, 2, members: [members])
    #expect(try step(known, linked).hasUnknownProperties && linked.unknownProperties == ["gone"])
    let removed = OutboxChange(name: "gone", recordedName: "gone", isKnown: false, base: value, value: nil)
    #expect(try !step(SampleEntries.entry(.delete, 3, changes: [removed])).hasUnknownProperties)
  }
}
