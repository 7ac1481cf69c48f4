import CoherenceInMemory
import Foundation
import Testing

@testable import CoherenceCore

/// The checks of values that merge policies and participants give to a save, and of rules and bounds.
@Suite struct PolicyValueTests {
  private let model: ManagedObjectModel
  private let job: EntityDescription
  private let spaces: IDSpaces

  init() throws {
    model = try ManagedObjectModel {
      Entity("Job") {
        Attribute("name", .string, validation: [.minimumLength(2), .maximumLength(4)])
        Attribute("count", .int16, optional: true, validation: [.minimum(.int(1)), .maximum(.int(9))])
        Relationship("queue", toOne: "Queue", inverse: "jobs")
      }
      Entity("Queue") { Relationship("jobs", toMany: "Job", inverse: "queue", ordered: true) }
    }
    job = try model.entity(named: "Job")
    spaces = IDSpaces(store: StoreIdentifier("jobs"), model: model)
  }

  private func slot(_ name: String) -> Int { job.slots.firstIndex { $0.name == name } ?? -1 }

  private func values(_ values: [String: AttributeValue]) -> [AttributeValue] {
    job.slots.map { values[$0.name] ?? ($0.name == "name" ? .string("abc") : .null) }
  }

  private func row(_ values: [String: AttributeValue] = [:]) -> Row {
    Row.make(id: ManagedObjectID(space: spaces[job], key: 1), entity: job, version: 1, values: self.values(values))
  }

  private func queue(in store: String = "jobs") throws -> AttributeValue {
    let entity = try model.entity(named: "Queue")
    return .reference(ManagedObjectID(space: IDSpaces(store: StoreIdentifier(store), model: model)[entity], key: 5))
  }

  // MARK: Merge policies

  private func check(_ values: [AttributeValue], store: Row? = nil) throws -> [AttributeValue] {
    var check = PolicyValueCheck(
      of: Conflict(objectID: row().id, ancestor: nil, mine: row(), store: store))
    return try check.checked(values)
  }

  /// The failures of values, by the names of their properties.
  private func failures(_ values: [String: AttributeValue]) throws -> [String: ErrorCode] {
    do {
      _ = try check(self.values(values))
      return [:]
    } catch let error as CoherenceError {
      #expect(error.code == .validationFailed)
      #expect(error.objectIDs == [row().id])
      return Dictionary(uniqueKeysWithValues: error.failures.map { ($0.propertyName, $0.code) })
    }
  }

  @Test func `a policy returns one value for each slot`() throws {
    for values in [Array(values([:]).dropLast()), values([:]) + [.null]] {
      let error = #expect(throws: CoherenceError.self) { try check(values) }
      #expect(error?.code == .invalidValue)
      #expect(error?.message.contains("\(values.count)") == true)
    }
    #expect(try check(values([:])) == values([:]))
  }

  @Test func `the values of a policy satisfy the model, and every failure is named`() throws {
    #expect(try failures(["name": .null]) == ["name": .missingValue])
    #expect(
      try failures(["name": .string("a"), "count": .int(10)]) == ["name": .invalidValue, "count": .invalidValue])
    #expect(try failures(["count": .int(40_000)]) == ["count": .invalidValue])
    #expect(try failures(["count": .string("A")]) == ["count": .wrongType])
    #expect(try failures(["queue": .int(1)]) == ["queue": .wrongType])
    #expect(try failures(["queue": .reference(row().id)]) == ["queue": .invalidValue])
    #expect(try failures(["queue": queue(in: "elsewhere")]) == ["queue": .invalidValue])
    #expect(try failures(["queue.position": .string("A")]) == ["queue.position": .wrongType])
    #expect(try failures(["queue": queue(), "queue.position": .int(3), "count": .int(9)]) == [:])
  }

  @Test func `a value of the store is not checked again`() throws {
    let stored = row(["name": .string("much too long")])
    #expect(try check(stored.values, store: stored) == stored.values)
    let error = #expect(throws: CoherenceError.self) { try check(stored.values) }
    #expect(error?.failures.map(\.rule) == [.maximumLength(4)])
  }

  // MARK: Participants

  private func added(
    _ values: [AttributeValue], in coordinator: PersistentStoreCoordinator
  ) throws -> [AttributeValue] {
    try AddedRecordCheck(of: job, in: StoreIdentifier("jobs"), of: coordinator).checked(
      values, DerivedValues(in: coordinator, by: nil))
  }

  /// The code and the message of a refused record.
  private func refusal(
    _ values: [String: AttributeValue], in coordinator: PersistentStoreCoordinator
  ) -> (code: ErrorCode?, message: String) {
    let error = #expect(throws: CoherenceError.self) { try added(self.values(values), in: coordinator) }
    return (error?.code, error?.message ?? "")
  }

  @Test func `a record that a participant adds satisfies the model`() throws {
    let complete = values(["count": .int(1), "queue": try queue(), "queue.position": .int(3)])
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(type: .inMemory)
    #expect(try added(complete, in: coordinator) == complete)
    let tooFew = #expect(throws: CoherenceError.self) { try added(Array(complete.dropLast()), in: coordinator) }
    #expect(tooFew?.code == .invalidValue)
    let (other, detached) = (try queue(in: store.identifier.rawValue), try queue(in: "elsewhere"))
    let fresh = AttributeValue.reference(.temporary(for: try model.entity(named: "Queue")))
    let refused: [([String: AttributeValue], ErrorCode, String)] = [
      (["name": .null], .validationFailed, "'Job.name' needs a value"),
      (["name": .string("a")], .validationFailed, "'Job.name' is shorter than 2"),
      (["count": .int(0)], .validationFailed, "'Job.count' is below the minimum"),
      (["count": .int(40_000)], .validationFailed, "'Job.count' does not fit"),
      (["queue": .int(1)], .validationFailed, "'Job.queue' cannot be of type"),
      (["queue": .reference(row().id)], .validationFailed, "'Job.queue' leads to no saved record of 'Queue'"),
      (["queue": fresh], .validationFailed, "'Job.queue' leads to no saved record of 'Queue'"),
      (["queue": other], .relationshipCrossesStores, "'Job.queue' leads into another store"),
      (["queue": detached], .storeDetached, "The store of an object of 'Queue' is not attached"),
      (["queue.position": .string("A")], .validationFailed, "'Job.queue.position' cannot be of type"),
    ]
    for (values, code, text) in refused {
      let refusal = refusal(values, in: coordinator)
      #expect(refusal.code == code)
      #expect(refusal.message.contains(text), "\(refusal.message)")
    }
  }

  // MARK: Children

  private func decide(
    _ records: [PendingRecord], by policy: MergePolicy, in conflicts: inout ParentConflicts
  ) throws { try conflicts.decide(records, by: policy, mergesProperties: false) }

  @Test func `a child's policy restores edited records, and gives deletes and mere positions up`() throws {
    let edited = PendingRecord(changing: row())
    edited.set(.int(2), at: slot("count"))
    let moved = PendingRecord(changing: row(["queue": try queue()]))
    moved.id = ManagedObjectID(space: spaces[job], key: 2)
    moved.set(.int(2), at: slot("queue.position"))
    let deleted = PendingRecord(deleting: row())
    deleted.id = ManagedObjectID(space: spaces[job], key: 3)
    var conflicts = ParentConflicts()
    try decide([edited, moved, deleted], by: .overwrite, in: &conflicts)
    #expect(conflicts.restoredValues(of: edited.id) == values(["count": .int(2)]))
    #expect(conflicts.restoredValues(of: moved.id) == nil)
    #expect(conflicts.discarded == [moved.id, deleted.id])
    var given = ParentConflicts()
    try decide([edited], by: .rollback, in: &given)
    #expect(given.discarded == [edited.id])
    #expect(given.restoredValues(of: edited.id) == nil)
  }

  @Test func `a child's error policy reports all conflicts with the parent`() {
    let records = [1, 2].map { (key: Int64) in
      let record = PendingRecord(changing: row())
      record.id = ManagedObjectID(space: spaces[job], key: key)
      return record
    }
    let error = #expect(throws: CoherenceError.self) {
      var conflicts = ParentConflicts()
      try decide(records, by: .error, in: &conflicts)
    }
    #expect(error?.code == .versionConflict)
    #expect(error?.conflicts.map(\.objectID) == records.map(\.id))
    #expect(error?.conflicts.allSatisfy { $0.store == nil && $0.mine != nil } == true)
  }

  // MARK: Rules

  @Test func `a bound of a rule is a valid value, and a value of another kind has no length`() throws {
    let cases: [(ValidationRule, [AttributeValue], AttributeValue)] = [
      (.minimum(.int(3)), [.int(3), .int(4)], .int(2)), (.maximum(.int(3)), [.int(3), .int(2)], .int(4)),
      (.minimumLength(2), [.string("é!"), .data(Data([1, 2])), .int(0)], .string("a")),
      (.maximumLength(2), [.string("é!"), .data(Data([1, 2])), .int(999)], .data(Data([1, 2, 3]))),
      (.pattern("a+"), [.string("aa"), .int(1)], .string("ab")),
    ]
    for (rule, valid, invalid) in cases {
      for value in valid { #expect(try rule.isSatisfied(by: value), "\(rule) \(value)") }
      // The second use of a pattern finds the compiled one.
      for _ in 1...2 { #expect(try rule.isSatisfied(by: invalid) == false, "\(rule)") }
    }
  }
}
