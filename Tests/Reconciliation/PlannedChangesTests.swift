import CoherenceCore
import CoherenceReconciliation
import Testing

@Suite("Planning changes again")
struct PlannedChangesTests {
  private let lostRace = CoherenceError(.versionConflict, "Another writer changed the item.")

  @Test func `changes that lose races are planned until they are saved`() throws {
    let stack = try ItemStack()
    try stack.context.performAndWait {
      let changes = PlannedChanges(in: stack.context, savesParents: true)
      var attempts = 0
      try changes.planningAgain(afterRacesOver: stack.entity) {
        try changes.rollingBackOnError {
          attempts += 1
          try stack.context.insertNewObject(forEntityName: "Item").setValue("item", for: "name")
          if attempts < 3 { throw lostRace }
          try stack.context.save()
        }
      }
      #expect(attempts == 3)
      #expect(try stack.context.count(for: FetchRequest<ManagedObject>(entityName: "Item")) == 1)
    }
  }

  @Test func `in a context with other changes, changes are planned once and not rolled back`() throws {
    let stack = try ItemStack()
    try stack.context.performAndWait {
      try stack.context.insertNewObject(forEntityName: "Item").setValue("other", for: "name")
      let changes = PlannedChanges(in: stack.context, savesParents: true)
      var attempts = 0
      #expect(throws: CoherenceError.self) {
        try changes.planningAgain(afterRacesOver: stack.entity) {
          try changes.rollingBackOnError {
            attempts += 1
            throw lostRace
          }
        }
      }
      #expect(attempts == 1 && stack.context.hasChanges)
    }
  }
}
