import Testing

@testable import CoherenceCore

/// The order of the steps of a save. Each plan is also taken by an engine that checks every constraint after every row.
@Suite struct SavePlanTests {
  private let staff: StaffModel

  init() throws { staff = try StaffModel() }

  /// The steps of a plan by their names, after a strict engine has taken them.
  private func steps(_ changes: RowChanges, on stored: [Row] = [], links: Set<StrictEngine.Ends> = []) throws
    -> [String]
  {
    let request = SavePlan(changes).request
    var engine = StrictEngine(stored, links: links)
    try engine.take(request)
    return request.steps.map(Self.name)
  }

  private static func name(_ step: SaveStep) -> String {
    switch step {
    case .unlink(_, let links): "unlink \(links.count)"
    case .fix(let entity, let slots, let rows): "fix \(entity.name) \(names(slots, entity)) \(rows.count)"
    case .delete(let entity, let deletes): "delete \(entity.name) \(deletes.count)"
    case .insert(let entity, let rows): "insert \(entity.name) \(rows.count)"
    case .update(let entity, let slots, let updates): "update \(entity.name) \(names(slots, entity)) \(updates.count)"
    case .link(_, let links): "link \(links.count)"
    }
  }

  private static func names(_ slots: SlotSet, _ entity: EntityDescription) -> String {
    slots.map { entity.slots[$0].name }.joined(separator: "+")
  }

  private func reference(_ entity: EntityDescription, _ key: Int64) -> AttributeValue {
    .reference(staff.id(entity, key))
  }

  @Test func `a unit of work without changes has no steps`() throws {
    #expect(try steps(RowChanges()) == [])
  }

  @Test func `an entity is inserted after the entity that it refers to`() throws {
    var changes = RowChanges()
    changes.insert(staff.row(staff.employee, 1, ["firm": reference(staff.firm, 1)]))
    changes.insert(staff.row(staff.firm, 1))
    #expect(try steps(changes) == ["insert Firm 1", "insert Employee 1"])
  }

  @Test func `a reference to a later row of the same entity is filled in after the inserts`() throws {
    var changes = RowChanges()
    changes.insert(staff.row(staff.person, 1, ["mentor": reference(staff.person, 2)]))
    changes.insert(staff.row(staff.person, 2))
    #expect(try steps(changes) == ["insert Person 2", "fix Person mentor 1"])
  }

  @Test func `rows that refer to each other are inserted with one reference left out`() throws {
    var changes = RowChanges()
    changes.insert(staff.row(staff.firm, 1, ["boss": reference(staff.person, 1)]))
    changes.insert(staff.row(staff.person, 1, ["firm": reference(staff.firm, 1)]))
    #expect(try steps(changes) == ["insert Person 1", "insert Firm 1", "fix Person firm 1"])
  }

  @Test func `a reference of a row to itself is written with the row`() throws {
    var changes = RowChanges()
    changes.insert(staff.row(staff.person, 1, ["mentor": reference(staff.person, 1)]))
    #expect(try steps(changes) == ["insert Person 1"])
  }

  @Test func `unique values that two rows swap are cleared before they are written`() throws {
    let (ann, bob) = (
      staff.row(staff.person, 1, ["name": .string("Ann")]), staff.row(staff.person, 2, ["name": .string("Bob")])
    )
    var changes = RowChanges()
    changes.update(ann, to: staff.row(staff.person, 1, version: 2, ["name": .string("Bob")]))
    changes.update(bob, to: staff.row(staff.person, 2, version: 2, ["name": .string("Ann")]))
    #expect(try steps(changes, on: [ann, bob]) == ["fix Person name 2", "update Person name 2"])
  }

  @Test func `an insert of a subentity takes over a unique value that an update of the same save changes`() throws {
    let ann = staff.row(staff.person, 1, ["name": .string("Ann")])
    var changes = RowChanges()
    changes.update(ann, to: staff.row(staff.person, 1, version: 2, ["name": .string("Anna")]))
    changes.insert(staff.row(staff.employee, 2, ["name": .string("Ann")]))
    #expect(try steps(changes, on: [ann]) == ["fix Person name 1", "insert Employee 1", "update Person name 1"])
  }

  @Test func `a unique value of a deleted row needs no clearing`() throws {
    let ann = staff.row(staff.person, 1, ["name": .string("Ann")])
    var changes = RowChanges()
    changes.delete(ann)
    changes.insert(staff.row(staff.person, 2, ["name": .string("Ann")]))
    #expect(try steps(changes, on: [ann]) == ["delete Person 1", "insert Person 1"])
  }

  @Test func `a referring row is deleted before the row that it refers to, and keeps its reference`() throws {
    let firm = staff.row(staff.firm, 1)
    let person = staff.row(staff.employee, 1, ["firm": reference(staff.firm, 1)])
    var changes = RowChanges()
    changes.delete(firm)
    changes.delete(person)
    #expect(try steps(changes, on: [firm, person]) == ["delete Employee 1", "delete Firm 1"])
  }

  @Test func `rows that refer to each other are deleted after one of their references is cleared`() throws {
    let firm = staff.row(staff.firm, 1, ["boss": reference(staff.person, 1)])
    let person = staff.row(staff.person, 1, ["firm": reference(staff.firm, 1)])
    var changes = RowChanges()
    changes.delete(firm)
    changes.delete(person)
    #expect(try steps(changes, on: [firm, person]) == ["fix Person firm 1", "delete Firm 1", "delete Person 1"])
  }

  @Test func `a save clears the references between deleted rows of one entity before it deletes the rows`() throws {
    let mentor = staff.row(staff.person, 1)
    let pupil = staff.row(staff.person, 2, ["mentor": reference(staff.person, 1)])
    var changes = RowChanges()
    changes.delete(mentor)
    changes.delete(pupil)
    #expect(try steps(changes, on: [mentor, pupil]) == ["fix Person mentor 1", "delete Person 2"])
  }

  @Test func `an updated row loses its reference before the target is deleted`() throws {
    let mentor = staff.row(staff.person, 1)
    let pupil = staff.row(staff.person, 2, ["mentor": reference(staff.person, 1)])
    var changes = RowChanges()
    changes.update(pupil, to: staff.row(staff.person, 2, version: 2))
    changes.delete(mentor)
    let names = try steps(changes, on: [mentor, pupil])
    #expect(names == ["fix Person mentor 1", "delete Person 1", "update Person mentor 1"])
  }

  @Test func `a reference without an inverse stays when its target is deleted`() throws {
    let person = staff.row(staff.person, 1)
    let note = staff.row(staff.note, 1, ["subject": reference(staff.person, 1)])
    var changes = RowChanges()
    changes.delete(note)
    changes.delete(person)
    #expect(try steps(changes, on: [person, note]) == ["delete Note 1", "delete Person 1"])
  }

  @Test func `links are removed before the rows change and added after them`() throws {
    let (person, club) = (staff.row(staff.person, 1), staff.row(staff.club, 1))
    let isForward = staff.memberships.sourceRoot === staff.person
    func link(_ person: Int64, _ club: Int64) -> Link {
      isForward ? Link(source: person, target: club) : Link(source: club, target: person)
    }
    let stored = StrictEngine.Ends(table: staff.memberships, source: link(1, 1).source, target: link(1, 1).target)
    var changes = RowChanges()
    changes.delete(person)
    changes.insert(staff.row(staff.person, 2))
    changes.links.remove(link(1, 1), from: staff.memberships)
    changes.links.add(link(2, 1), to: staff.memberships)
    #expect(
      try steps(changes, on: [person, club], links: [stored])
        == ["unlink 1", "delete Person 1", "insert Person 1", "link 1"])
  }

  @Test func `a link added from both sides has the positions of both sides`() {
    var changes = LinkChanges()
    changes.add(Link(source: 1, target: 2, sourcePosition: 7), to: staff.memberships)
    changes.add(Link(source: 1, target: 2, targetPosition: 9), to: staff.memberships)
    guard case .link(_, let links)? = changes.linkSteps.first else {
      Issue.record("The added link has no step.")
      return
    }
    #expect(links == [Link(source: 1, target: 2, sourcePosition: 7, targetPosition: 9)])
  }

  @Test func `updates of the same slots of an entity are one step`() throws {
    let stored = (1...4).map { staff.row(staff.person, $0, ["name": .string("\($0)"), "age": .int(1)]) }
    var changes = RowChanges()
    for base in stored {
      let name: AttributeValue = base.key == 2 ? .string("new") : .string("\(base.key)")
      changes.update(base, to: staff.row(staff.person, base.key, version: 2, ["name": name, "age": .int(2)]))
    }
    #expect(try steps(changes, on: stored) == ["update Person name+age 1", "update Person age 3"])
  }

  @Test func `members are counted for owners known to other writers, not for new and deleted owners`() {
    let stored = staff.row(staff.person, 1, ["firm": reference(staff.firm, 1)])
    var changes = RowChanges()
    changes.update(stored, to: staff.row(staff.person, 1, version: 2, ["firm": reference(staff.firm, 2)]))
    changes.insert(staff.row(staff.person, 2, ["firm": reference(staff.firm, 3)]))
    changes.insert(staff.row(staff.firm, 2))
    changes.insert(staff.row(staff.firm, 3), isRestored: true)
    changes.delete(staff.row(staff.person, 3, ["firm": reference(staff.firm, 4)]))
    changes.delete(staff.row(staff.firm, 4))
    #expect(SavePlan(changes).request.memberCounts.map(\.owners) == [[1, 3]])
  }
}
