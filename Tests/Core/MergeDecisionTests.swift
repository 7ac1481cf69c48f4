import Foundation
import Synchronization
import Testing

@testable import CoherenceCore

/// The decisions of merge policies about one conflict, without a store.
@Suite struct MergeDecisionTests {
  private let model: PlaylistModel

  init() throws { model = try PlaylistModel() }

  /// A decision in a comparable form.
  private enum Decision: Equatable { case fail, write([AttributeValue]), delete, discard }

  private func row(
    _ title: String, _ plays: Int64, version: Int64 = 1, _ values: [Int: AttributeValue] = [:]
  ) -> Row {
    model.row(
      model.track, version: version,
      values.merging([model.title: .string(title), model.plays: .int(plays)]) { first, _ in first })
  }

  private func conflict(_ ancestor: Row?, _ mine: Row?, _ store: Row?, _ lists: [ListConflict] = []) -> Conflict {
    Conflict(objectID: model.id(model.track, 1), ancestor: ancestor, mine: mine, store: store, lists: lists)
  }

  private func decision(
    of policy: MergePolicy, _ conflict: Conflict, changed: [Int]? = nil, merging: Bool = false
  ) throws -> Decision {
    let changed = changed ?? [model.title, model.plays]
    return switch try policy.resolve(conflict, changed: SlotSet(changed), mergesProperties: merging) {
    case .fail: .fail
    case .write(let values): .write(values)
    case .delete: .delete
    case .discard: .discard
    }
  }

  private func plays(_ choice: MergeChoice<AttributeValue>) -> MergeRule { .rule("plays", of: "Track", choice) }

  // MARK: Kinds

  @Test func `a policy with a closure anywhere excludes no writers`() {
    let closure = plays(.merging { _, mine, _ in mine })
    let custom: [MergePolicy] = [
      .custom { _ in nil }, .byProperty([], otherwise: .custom { _ in nil }), .byProperty([closure], otherwise: .error),
      .byProperty([plays(.sum)], otherwise: .byProperty([closure], otherwise: .rollback)),
    ]
    for policy in custom { #expect(policy.isCustom && !policy.canExcludeWriters) }
    for policy in [MergePolicy.error, .overwrite, .byProperty([plays(.sum)], otherwise: .storeTrumps)] {
      #expect(!policy.isCustom && policy.canExcludeWriters)
    }
  }

  @Test func `rules leave the treatment of unique values to their fallback, and write records that it discards`() {
    func nested(_ policy: MergePolicy) -> MergePolicy { .byProperty([], otherwise: .byProperty([], otherwise: policy)) }
    for wrap in [{ $0 }, nested] as [(MergePolicy) -> MergePolicy] {
      #expect(!wrap(.error).resolvesUniqueness)
      #expect(wrap(.overwrite).resolvesUniqueness)
      #expect(wrap(.storeTrumps).givesUniqueValuesBack && wrap(.rollback).givesUniqueValuesBack)
      #expect(!wrap(.objectTrumps).givesUniqueValuesBack && !wrap(.overwrite).givesUniqueValuesBack)
      #expect(!wrap(.error).givesUniqueValuesBack && !wrap(.custom { _ in nil }).givesUniqueValuesBack)
    }
    #expect(MergePolicy.rollback.discardsChanges)
    #expect(!MergePolicy.storeTrumps.discardsChanges)
    #expect(!nested(.rollback).discardsChanges)
  }

  @Test func `the first of several rules counts, the rules of the fallback come last, and subentities obey too`() throws
  {
    let staff = try StaffModel()
    let age = staff.slot("age", of: staff.person)
    let policy = MergePolicy.byProperty(
      [.rule("age", of: "Person", .sum), .rule("age", of: "Person", .larger)],
      otherwise: .byProperty(
        [.rule("age", of: "Person", .smaller), .rule("name", of: "Person", .store)], otherwise: .overwrite))
    for entity in [staff.person, staff.employee] {
      let rules = policy.rules(for: entity)
      #expect(rules.keys.sorted() == [age, staff.slot("name", of: entity)].sorted())
      #expect(try rules[age]?.value(.int(1), .int(2), .int(4)) == .int(5))
      #expect(policy.combinedSlots(of: entity) == SlotSet([age]))
    }
    #expect(policy.rules(for: staff.firm).isEmpty)
    #expect(
      MergePolicy.byProperty([.rule("clubs", of: "Person", .store)], otherwise: .error).rules(for: staff.person).isEmpty
    )
    #expect(MergePolicy.overwrite.combinedSlots(of: staff.person).isEmpty)
  }

  @Test func `a policy by property keeps the observer and the condition of its fallback`() {
    var fallback = MergePolicy.overwrite
    fallback.observer = { _, _ in }
    fallback.allows = { _ in true }
    let policy = MergePolicy.byProperty([], otherwise: fallback)
    #expect(policy.observer != nil)
    #expect(policy.allows != nil)
  }

  // MARK: Whole records

  @Test func `changes of different properties merge without a conflict in a context that follows others`() throws {
    let (ancestor, mine, store) = (row("A", 1), row("B", 1), row("A", 2))
    let merged = row("B", 2).values
    func decide(_ conflict: Conflict, _ changed: [Int], merging: Bool = true) throws -> Decision {
      try decision(of: .error, conflict, changed: changed, merging: merging)
    }
    #expect(try decide(conflict(ancestor, mine, store), [model.title]) == .write(merged))
    #expect(try decide(conflict(ancestor, mine, store), [model.title], merging: false) == .fail)
    #expect(try decide(conflict(ancestor, mine, row("C", 1)), [model.title]) == .fail)
    #expect(try decide(conflict(ancestor, mine, row("B", 2)), [model.title]) == .write(merged))
    #expect(try decide(conflict(nil, mine, store), [model.title]) == .fail)
    let list = ListConflict(relationship: model.tracks, ancestor: nil, mine: [], store: [])
    #expect(try decide(conflict(ancestor, mine, store, [list]), [model.title]) == .fail)
    let moved = conflict(ancestor, row("A", 1, [model.position: .int(4)]), store)
    #expect(try decide(moved, [model.position]) == .fail)
  }

  @Test func `each policy decides about two edits, about deletes and about deleted records`() throws {
    let (ancestor, mine, store) = (row("A", 1), row("B", 2), row("A", 3))
    let cases: [(MergePolicy, both: Decision, delete: Decision, deleted: Decision)] = [
      (.storeTrumps, .write(row("B", 3).values), .discard, .discard),
      (.objectTrumps, .write(row("B", 2).values), .delete, .write(mine.values)),
      (.overwrite, .write(mine.values), .delete, .write(mine.values)), (.rollback, .discard, .discard, .discard),
      (.custom { _ in nil }, .discard, .discard, .discard), (.error, .fail, .fail, .fail),
    ]
    for (policy, both, delete, deleted) in cases {
      #expect(try decision(of: policy, conflict(ancestor, mine, store)) == both)
      #expect(try decision(of: policy, conflict(ancestor, nil, store)) == delete)
      #expect(try decision(of: policy, conflict(ancestor, mine, nil)) == deleted)
    }
    // The saver's whole record wins, or only the properties that it has changed.
    let other = conflict(ancestor, row("A", 2), row("C", 3))
    #expect(try decision(of: .objectTrumps, other, changed: [model.plays]) == .write(row("C", 2).values))
    #expect(try decision(of: .overwrite, other, changed: [model.plays]) == .write(row("A", 2).values))
  }

  @Test func `a position comes from the writer whose owner wins`() throws {
    func track(_ owner: Int64, _ position: Int64) -> Row {
      row("A", 1, [model.owner: model.reference(owner), model.position: .int(position)])
    }
    let changed = [model.owner, model.position]
    let moved = conflict(track(1, 10), track(2, 20), track(3, 30))
    #expect(try decision(of: .objectTrumps, moved, changed: [model.owner]) == .write(track(2, 20).values))
    #expect(try decision(of: .storeTrumps, moved, changed: changed) == .write(track(3, 30).values))
    // Both writers keep the owner: the position is an edit like any other.
    let reordered = conflict(track(1, 10), track(1, 20), track(1, 10))
    #expect(try decision(of: .storeTrumps, reordered, changed: changed) == .write(track(1, 20).values))
    let owner = model.owner
    let custom = MergePolicy.custom { conflict in
      guard var values = conflict.store?.values, let mine = conflict.mine else { return nil }
      values[owner] = mine[owner]
      return values
    }
    #expect(try decision(of: custom, moved, changed: changed) == .write(track(2, 20).values))
  }

  @Test func `the saver's order of a list wins, except over a changed order under the store's policy`() {
    func list(_ ancestor: [Int64]?, _ store: [Int64]) -> ListConflict {
      let ids = { (keys: [Int64]) in keys.map { model.id(model.track, $0) } }
      return ListConflict(relationship: model.tracks, ancestor: ancestor.map(ids), mine: [], store: ids(store))
    }
    for policy in [MergePolicy.storeTrumps, .byProperty([], otherwise: .storeTrumps)] {
      #expect(policy.keepsOrder(of: list([1, 2], [1, 2])))
      #expect(policy.keepsOrder(of: list(nil, [1, 2])))
      #expect(!policy.keepsOrder(of: list([1, 2], [2, 1])))
    }
    #expect(MergePolicy.objectTrumps.keepsOrder(of: list([1, 2], [2, 1])))
  }

  // MARK: Observers and conditions

  @Test func `an observer receives each resolved conflict and whether the changes were discarded`() throws {
    let (ancestor, mine, store) = (row("A", 1), row("B", 2), row("A", 3))
    func reports(_ policy: MergePolicy, _ conflict: Conflict) throws -> [Bool] {
      let discarded = Mutex<[Bool]>([])
      var policy = policy
      policy.observer = { _, isDiscarded in discarded.withLock { $0.append(isDiscarded) } }
      _ = try decision(of: policy, conflict)
      return discarded.withLock { $0 }
    }
    #expect(try reports(.overwrite, conflict(ancestor, mine, store)) == [false])
    #expect(try reports(.overwrite, conflict(ancestor, nil, store)) == [false])
    #expect(try reports(.rollback, conflict(ancestor, mine, store)) == [true])
    #expect(try reports(.error, conflict(ancestor, mine, store)) == [])
  }

  @Test func `changes that do not apply any more are discarded without a question to the policy`() throws {
    let asked = Atomic<Int>(0)
    var policy = MergePolicy.custom { conflict in
      asked.add(1, ordering: .relaxed)
      return conflict.mine?.values
    }
    policy.allows = { $0.store?.version == 2 }
    let (ancestor, mine) = (row("A", 1), row("B", 2))
    #expect(try decision(of: policy, conflict(ancestor, mine, row("A", 3))) == .discard)
    let count = asked.load(ordering: .relaxed)
    #expect(count == 0)
    #expect(try decision(of: policy, conflict(ancestor, mine, row("A", 3, version: 2))) == .write(mine.values))
  }

  // MARK: Rules

  @Test func `a rule decides about a property that both writers changed, and no other property`() throws {
    let calls = Atomic<Int>(0)
    let rule = plays(
      .merging { _, _, _ in
        calls.add(1, ordering: .relaxed)
        return .int(100)
      })
    let policy = MergePolicy.byProperty([rule], otherwise: .overwrite)
    let ancestor = row("A", 1)
    #expect(
      try decision(of: policy, conflict(ancestor, row("B", 1), row("A", 3)), changed: [model.title])
        == .write(row("B", 3).values))
    #expect(try decision(of: policy, conflict(ancestor, row("B", 2), row("A", 1))) == .write(row("B", 2).values))
    let earlierCount = calls.load(ordering: .relaxed)
    #expect(earlierCount == 0)
    #expect(try decision(of: policy, conflict(ancestor, row("B", 2), row("A", 3))) == .write(row("B", 100).values))
    let count = calls.load(ordering: .relaxed)
    #expect(count == 1)
  }

  @Test func `a conflict over a property without a rule fails under the error policy`() throws {
    let policy = MergePolicy.byProperty([plays(.sum)], otherwise: .error)
    let ancestor = row("A", 1)
    #expect(try decision(of: policy, conflict(ancestor, row("B", 2), row("A", 3))) == .write(row("B", 4).values))
    #expect(try decision(of: policy, conflict(ancestor, row("B", 2), row("C", 3))) == .fail)
    #expect(try decision(of: policy, conflict(ancestor, nil, row("C", 3))) == .fail)
  }

  @Test func `a record is written under the rollback policy only if a rule changes the stored value`() throws {
    let policy = MergePolicy.byProperty([plays(.larger)], otherwise: .rollback)
    let ancestor = row("A", 1)
    #expect(try decision(of: policy, conflict(ancestor, row("B", 5), row("C", 3))) == .write(row("C", 5).values))
    #expect(try decision(of: policy, conflict(ancestor, row("B", 2), row("C", 3))) == .discard)
  }

  // MARK: Values

  private func value(
    _ choice: MergeChoice<AttributeValue>, _ base: AttributeValue?, _ mine: AttributeValue, _ stored: AttributeValue
  ) throws -> AttributeValue { try plays(choice).value(base, mine, stored) }

  @Test func `a missing value loses against the larger and the smaller value`() throws {
    for choice in [MergeChoice<AttributeValue>.larger, .smaller] {
      #expect(try value(choice, nil, .null, .int(1)) == .int(1))
      #expect(try value(choice, nil, .int(1), .null) == .int(1))
      #expect(try value(choice, nil, .null, .null) == .null)
    }
    #expect(try value(.larger, nil, .int(2), .int(1)) == .int(2))
    #expect(try value(.larger, nil, .int(1), .int(2)) == .int(2))
    #expect(try value(.smaller, nil, .int(2), .int(1)) == .int(1))
    #expect(try value(.smaller, nil, .int(1), .int(2)) == .int(1))
    #expect(try value(.store, nil, .int(1), .int(2)) == .int(2))
    #expect(try value(.context, nil, .int(1), .int(2)) == .int(1))
  }

  @Test func `a sum counts missing numbers as zero, up to the ends of the range`() throws {
    #expect(try value(.sum, .int(1), .int(3), .int(10)) == .int(12))
    #expect(try value(.sum, nil, .int(3), .int(10)) == .int(13))
    #expect(try value(.sum, .int(2), .null, .int(10)) == .int(8))
    #expect(try value(.sum, .null, .int(3), .null) == .int(3))
    #expect(try value(.sum, .int(1), .null, .null) == .null)
    #expect(try value(.sum, .int(-1), .int(.max), .int(-1)) == .int(.max))
    #expect(try value(.sum, .int(-1), .int(-1), .int(.max)) == .int(.max))
    let error = #expect(throws: CoherenceError.self) { try value(.sum, .int(0), .int(.max), .int(1)) }
    #expect(error?.code == .arithmeticOverflow)
    #expect(error?.message.contains("'Track.plays'") == true)
    #expect(try value(.sum, .double(1), .double(1.5), .double(10)) == .double(10.5))
    #expect(try value(.sum, .null, .null, .double(2)) == .double(2))
    #expect(try value(.sum, .double(.infinity), .double(.infinity), .double(2)) == .double(.infinity))
    #expect(try value(.sum, .decimal(1), .decimal(3), .decimal(10)) == .decimal(12))
    #expect(try value(.sum, nil, .decimal(3), .null) == .decimal(3))
    #expect(throws: CoherenceError.self) {
      let largest = AttributeValue.decimal(.greatestFiniteMagnitude)
      return try value(.sum, nil, largest, largest)
    }
  }
}
