import CoherenceCore
import CoherenceReconciliation
import Testing

@Suite("Planning changes again")
struct PlanningRetryTests {
  private let lostRace = CoherenceError(.versionConflict, "Another writer changed the item.")

  @Test func `changes that lose races are planned until they are saved`() throws {
    let stack = try ItemStack()
    try stack.context.performAndWait {
      let retry = PlanningRetry(in: stack.context, savesParents: true)
      var attempts = 0
      try retry.planningAgain(afterRacesOver: stack.entity) {
        try retry.rollingBackOnError {
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
      let retry = PlanningRetry(in: stack.context, savesParents: true)
      var attempts = 0
      #expect(throws: CoherenceError.self) {
        try retry.planningAgain(afterRacesOver: stack.entity) {
          try retry.rollingBackOnError {
            attempts += 1
            throw lostRace
          }
        }
      }
      #expect(attempts == 1 && stack.context.hasChanges)
    }
  }

  @Test(arguments: [false, true])
  func `an error rolls back the contexts without earlier changes, and no other contexts`(
    hasChanges: Bool
  ) throws {
    let stack = try ItemStack()
    let parent = stack.context
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    func insert(_ name: String, into context: ManagedObjectContext) throws {
      try context.performAndWait {
        try context.insertNewObject(forEntityName: "Item").setValue(name, for: "name")
      }
    }
    if hasChanges { try insert("other", into: parent) }
    #expect(throws: CoherenceError.self) {
      try PlanningRetry(in: child, savesParents: true).rollingBackOnError {
        try insert("planned", into: child)
        try child.performAndWait { try child.save() }
        try insert("planned", into: child)
        throw lostRace
      }
    }
    #expect(child.performAndWait { !child.hasChanges })
    #expect(parent.performAndWait { parent.insertedObjects.count } == (hasChanges ? 2 : 0))
  }
}
