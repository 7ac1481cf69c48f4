import CoherenceActions
import CoherenceCore
import Testing

@testable import CoherenceOutbox

/// The properties about which a user decides after the server has refused an edit.
@Suite("Properties in conflict")
struct ConflictingNameTests {
  private func edit(
    _ kind: PendingEdit.Kind, _ changed: Set<String>, _ base: [String: AttributeValue], assigned: Set<String> = []
  ) -> PendingEdit {
    PendingEdit(
      of: SampleEntries.node(.update, 1, of: 1).id, kind, changed: changed, base: base, serverAssigned: assigned)
  }

  @Test func `an insert is in conflict over the values of the reply, without those that the server assigns`() {
    let insert = edit(.insert, [], [:], assigned: ["version"])
    #expect(insert.conflictingNames(with: ["a": .int(1), "version": .int(2)], keys: []) == ["a"])
    #expect(insert.conflictingNames(with: nil, keys: []) == [])
  }

  @Test func `an update is in conflict over the changed properties with another value, or else over all of them`() {
    let update = edit(.update, ["a", "b"], ["a": .int(1), "b": .int(1), "c": .int(1)])
    #expect(update.conflictingNames(with: ["a": .int(5), "b": .int(1), "c": .int(9)], keys: []) == ["a"])
    #expect(update.conflictingNames(with: ["a": .int(1), "c": .int(9)], keys: []) == ["a", "b"])
    #expect(update.conflictingNames(with: [:], keys: []) == ["a", "b"])
    #expect(update.conflictingNames(with: nil, keys: []) == [])
  }

  @Test func `a deletion is in conflict over other values, or over the unreported properties, or over all`() {
    let names: Set<String> = ["id", "a", "b", "version"]
    let base: [String: AttributeValue] = ["id": .int(1), "a": .int(1), "b": .int(1), "version": .int(1)]
    let deletion = edit(.delete, names, base, assigned: ["version"])
    #expect(deletion.conflictingNames(with: ["a": .int(5), "b": .int(1)], keys: ["id"]) == ["a"])
    #expect(deletion.conflictingNames(with: ["a": .int(1)], keys: ["id"]) == ["b"])
    #expect(deletion.conflictingNames(with: ["a": .int(1), "b": .int(1)], keys: ["id"]) == ["a", "b"])
    #expect(deletion.conflictingNames(with: ["version": .int(9)], keys: ["id"]) == ["a", "b"])
  }

  @Test func `an unreadable edit keeps every attribute and relationship of its record`() throws {
    let entity = try OutboxModels.main.entity(named: "TestItem")
    var unreadable = edit(.update, [], [:])
    unreadable.keepAll(of: entity)
    #expect(unreadable.changed == ["title", "count", "photo", "list", "tags"] && unreadable.isBeingSent)
  }
}
