import Testing

@testable import CoherenceCore

/// The numbers and lists by which a context and its coordinator notice changes.
@Suite struct SaveNumberTests {
  private struct Refusal: Error {}

  private final class Observer: Sendable {}

  private let staff: StaffModel

  init() throws { staff = try StaffModel() }

  private func id(_ key: Int64) -> ManagedObjectID { staff.id(staff.person, key) }

  @Test func `a save counts twice, and has no number while it runs, also when it throws`() {
    let number = SaveNumber()
    #expect(number.value == 0)
    number.saving {
      #expect(number.value == nil)
      number.saving { #expect(number.value == nil) }
      #expect(number.value == nil)
    }
    #expect(number.value == 2)
    #expect(throws: Refusal.self) { try number.saving { throw Refusal() } }
    #expect(number.value == 4)
    #expect(!number.mayHaveCommitted)
    number.noteCommit()
    #expect(number.mayHaveCommitted)
  }

  @Test func `a set of changes is empty without changed records and relationships alone`() throws {
    let row = staff.row(staff.person, 1)
    let clubs = try #require(staff.person.relationship(named: "clubs"))
    var changes = ChangeSet()
    changes.permanentIDs = [id(1): id(2)]
    #expect(changes.isEmpty && changes.count == 0)
    let parts: [(inout ChangeSet) -> Void] = [
      { $0.inserted = [row] }, { $0.updated = [row] }, { $0.refreshed = [row.id] }, { $0.deleted = [row.id] },
      { $0.relinked = [row.id: [clubs]] },
    ]
    for (index, change) in parts.enumerated() {
      var single = ChangeSet()
      change(&single)
      #expect(!single.isEmpty && single.count == 1)
      change(&changes)
      #expect(changes.count == index + 1)
    }
    changes.refreshed = [id(7)]
    #expect(changes.insertedIDs == [id(1)])
    #expect(changes.updatedIDs == [id(1), id(7)])
  }

  @Test func `a renamed record is touched under both identifiers`() {
    var touched = TouchedRecords()
    #expect(touched.isEmpty)
    touched.isEverything = true
    #expect(!touched.isEmpty)
    touched.isEverything = false
    touched.rename(id(1), to: id(2))
    #expect(!touched.isEmpty)
    #expect(touched.renamed == [id(1): id(2)])
    #expect(touched.ids == [id(1), id(2)])
    #expect(touched.count == 3)
    var added = TouchedRecords()
    added.add(id(1))
    #expect(!added.isEmpty && added.count == 1)
  }

  @Test func `an observer is listed once, for its own entities, and released with its removal`() {
    let observers = EntityObservers()
    #expect(observers.isEmpty)
    var isObserved = Array(repeating: false, count: 5)
    isObserved[staff.firm.position] = true
    weak var released: Observer?
    let first = Observer()
    do {
      let second = Observer()
      released = second
      for observer in [first, second, first] {
        observers.add(EntityObservers.Observer(object: observer, isObserved: isObserved))
      }
      #expect(observers.all.map { ObjectIdentifier($0.object) } == [first, second].map { ObjectIdentifier($0) })
      #expect(observers.contains(first) && observers.contains(second) && !observers.contains(Observer()))
      #expect(!observers.isEmpty)
      observers.remove(second)
    }
    #expect(released == nil)
    #expect(observers.all.count == 1)
    #expect(observers.all[0].observes(staff.firm) && !observers.all[0].observes(staff.person))
    observers.remove(first)
    #expect(observers.isEmpty && !observers.contains(first))
  }

  @Test func `loaded objects are due outside of reads and hooks alone, and are taken once`() {
    var loads = LoadedObjects()
    #expect(loads.isDue)
    loads.depth = 1
    #expect(!loads.isDue)
    (loads.depth, loads.isAwakening) = (0, true)
    #expect(!loads.isDue)
    let object = ManagedObject(entity: staff.person, insertInto: nil)
    loads.append(object)
    let taken = loads.takeAll()
    #expect(taken == [object])
    #expect(loads.waiting.isEmpty)
  }
}
