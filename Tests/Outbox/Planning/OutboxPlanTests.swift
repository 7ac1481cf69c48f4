import CoherenceCore
import Foundation
import Testing

@testable import CoherenceOutbox

/// The common effect of the entries of a record.
@Suite("Coalescing")
struct OutboxPlanTests {
  private func change(_ name: String, _ base: Int64?, _ value: Int64?) -> OutboxChange {
    OutboxChange(
      name, base: base.map { .value(.int($0)) }, value: value.map { .value(.int($0)) })
  }

  @Test func `an insert and its updates are an insert of the last values under the key of the insert`() throws {
    let plan = OutboxPlan(entries: [
      SampleEntries.entry(.update, 3, changes: [change("b", 2, 5)]),
      SampleEntries.entry(.insert, 1, changes: [change("a", nil, 1), change("b", nil, 2)]),
      SampleEntries.entry(.update, 2, changes: [change("a", 1, 4)]),
    ])
    let step = try #require(plan.steps.first)
    #expect(plan.steps.count == 1 && plan.cancelled.isEmpty)
    #expect(step.kind == .insert && step.idempotencyKey == SampleEntries.key(1) && step.groupEnd == 3)
    #expect(step.changes == [change("a", nil, 4), change("b", nil, 5)])
    #expect(step.entries.map(\.sequence) == [1, 2, 3])
  }

  @Test func `updates have the first base and the last value of each property`() throws {
    let plan = OutboxPlan(entries: [
      SampleEntries.entry(.update, 1, changes: [change("a", 1, 2)]),
      SampleEntries.entry(.update, 2, changes: [change("a", 2, 3), change("b", 7, 8)]),
      SampleEntries.entry(.update, 3, changes: [change("b", 8, 9)]),
    ])
    let step = try #require(plan.steps.first)
    #expect(step.kind == .update && step.idempotencyKey == SampleEntries.key(1))
    #expect(step.changes == [change("a", 1, 3), change("b", 7, 9)])
  }

  @Test func `a property that gets its first value back is not sent`() throws {
    let plan = OutboxPlan(entries: [
      SampleEntries.entry(.update, 1, changes: [change("a", 1, 2), change("b", 1, 2)]),
      SampleEntries.entry(.update, 2, changes: [change("a", 2, 1)]),
    ])
    #expect(plan.steps.map(\.changes) == [[change("b", 1, 2)]])
  }

  @Test func `updates that undo each other need no request, unless an attempt has contained them`() {
    let undone = [
      SampleEntries.entry(.update, 1, changes: [change("a", 1, 2)]),
      SampleEntries.entry(.update, 2, changes: [change("a", 2, 1)]),
    ]
    let plan = OutboxPlan(entries: undone)
    #expect(plan.steps.isEmpty && plan.cancelled.map(\.sequence) == [1, 2])
    let attempted = OutboxPlan(entries: [
      SampleEntries.entry(.update, 1, changes: [change("a", 1, 2)], groupEnd: 2), undone[1],
    ])
    #expect(attempted.cancelled.isEmpty && attempted.steps.count == 1)
  }

  @Test func `omitted values never count as equal`() throws {
    let large = OutboxValue.omitted(byteCount: 40_000)
    let plan = OutboxPlan(entries: [
      SampleEntries.entry(.update, 1, changes: [OutboxChange("photo", base: large, value: .value(.null))]),
      SampleEntries.entry(.update, 2, changes: [OutboxChange("photo", base: .value(.null), value: large)]),
    ])
    #expect(plan.steps.map(\.changes) == [[OutboxChange("photo", base: large, value: large)]])
  }

  @Test func `an update whose values cannot be read is kept`() {
    let plan = OutboxPlan(entries: [SampleEntries.entry(.update, 1, isReadable: false)])
    #expect(plan.cancelled.isEmpty && plan.steps.count == 1)
  }

  @Test func `the insert and the delete of an unsent record need no request`() {
    let plan = OutboxPlan(entries: [
      SampleEntries.entry(.insert, 1, changes: [change("a", nil, 1)]),
      SampleEntries.entry(.update, 2, changes: [change("a", 1, 2)]),
      SampleEntries.entry(.delete, 3, changes: [change("a", 2, nil)]),
    ])
    #expect(plan.steps.isEmpty && plan.cancelled.map(\.sequence) == [1, 2, 3])
  }

  @Test func `the delete after an attempted insert is sent, and the server may not have the record`() throws {
    let plan = OutboxPlan(entries: [
      SampleEntries.entry(.insert, 1, changes: [change("a", nil, 1)], groupEnd: 1),
      SampleEntries.entry(.delete, 2, changes: [change("a", 1, nil)], identity: ["a": .int(1)]),
    ])
    let step = try #require(plan.steps.first)
    #expect(plan.steps.count == 1 && plan.cancelled.isEmpty)
    #expect(step.kind == .delete && step.mayBeUnknownToServer && step.idempotencyKey == SampleEntries.key(2))
    #expect(step.changes == [change("a", 1, nil)] && step.identity == ["a": .int(1)])
  }

  @Test func `a delete has the values and the key that the server knows`() throws {
    let plan = OutboxPlan(entries: [
      SampleEntries.entry(.update, 1, changes: [change("a", 1, 2)], identity: ["a": .int(1)]),
      SampleEntries.entry(.delete, 2, changes: [change("a", 2, nil), change("b", 3, nil)], identity: ["a": .int(2)]),
    ])
    let step = try #require(plan.steps.first)
    #expect(step.kind == .delete && !step.mayBeUnknownToServer && step.idempotencyKey == SampleEntries.key(2))
    #expect(step.changes == [change("a", 1, nil), change("b", 3, nil)])
    #expect(step.identity == ["a": .int(1)])
  }

  @Test func `an insert has the last values of the key`() throws {
    let plan = OutboxPlan(entries: [
      SampleEntries.entry(.insert, 1, changes: [change("a", nil, 1)], identity: ["a": .int(1)]),
      SampleEntries.entry(.update, 2, changes: [change("a", 1, 2)], identity: ["a": .int(1)]),
    ])
    #expect(plan.steps.first?.identity == ["a": .int(2)])
  }

  @Test func `the members that thousands of entries add and remove are sent once each, in order`() {
    let count: Int64 = 3_000
    let added = (1...count).reversed().enumerated().map { index, key in
      SampleEntries.entry(
        .update, Int64(index + 1), members: [OutboxMembers("tags", added: [SampleEntries.item(key)])])
    }
    let removed = (1...count).filter { $0.isMultiple(of: 3) }.map { key in
      SampleEntries.entry(
        .update, count + key, members: [OutboxMembers("tags", removed: [SampleEntries.item(key)])])
    }
    let members = OutboxPlan(entries: added + removed).steps.map(\.members)
    let remaining = (1...count).filter { !$0.isMultiple(of: 3) }.map { SampleEntries.item($0) }
    #expect(members == [[OutboxMembers("tags", added: remaining)]])
  }

  @Test func `members added and removed again are not sent`() throws {
    let (one, two, three) = (SampleEntries.item(1), SampleEntries.item(2), SampleEntries.item(3))
    let plan = OutboxPlan(entries: [
      SampleEntries.entry(.update, 1, members: [OutboxMembers("tags", added: [one, two], removed: [three])]),
      SampleEntries.entry(.update, 2, members: [OutboxMembers("tags", added: [three], removed: [two])]),
    ])
    #expect(plan.steps.map(\.members) == [[OutboxMembers("tags", added: [one])]])
    let undone = OutboxPlan(entries: [
      SampleEntries.entry(.update, 1, members: [OutboxMembers("tags", added: [one])]),
      SampleEntries.entry(.update, 2, members: [OutboxMembers("tags", removed: [one])]),
    ])
    #expect(undone.steps.isEmpty && undone.cancelled.count == 2)
  }

  @Test func `the entries of a record are ordered by the versions of its saves, not by their sequences`() {
    let plan = OutboxPlan(entries: [
      SampleEntries.entry(.update, 1, version: 3, changes: [change("a", 2, 3)]),
      SampleEntries.entry(.update, 9, version: 2, changes: [change("a", 1, 2)]),
    ])
    #expect(plan.steps.map(\.changes) == [[change("a", 1, 3)]])
  }

  @Test func `a step has the references to records of a circle, which a request may leave out`() throws {
    let plan = OutboxPlan(entries: [
      SampleEntries.entry(
        .insert, 1, changes: [OutboxChange("friend", value: .record(SampleEntries.item(2)))],
        members: [OutboxMembers("friends", added: [SampleEntries.item(2), SampleEntries.item(3)])])
    ])
    let step = try #require(plan.steps.first)
    #expect(step.newReferences == [SampleEntries.item(2), SampleEntries.item(3)])
    #expect(step.changes == [OutboxChange("friend", value: .record(SampleEntries.item(2)))])
  }
}
