import CoherenceActions
import CoherenceCore
import Synchronization
import Testing

@Suite("Contexts of actions")
struct ActionContextTests {
  private let stack: ConnectStack

  init() throws { stack = try ConnectStack.started() }

  private func checkTen() throws {
    try stack.read { context in
      for id in Int64(1)...10 {
        let request = FetchRequest(ConnectEntity1.self)
          .filter(.comparison(.path(PropertyPath("id")), .equal, .value(.int(id))))
        let object = try #require(try context.fetch(request).first)
        let expected = ConnectEntity1.make(id, "String \(id)")
        #expect(object.string == expected.string)
        #expect(object.bool == expected.bool)
        #expect(object.binary == expected.binary)
      }
    }
  }

  @Test func `the saves of an action's context are not shown to participants, unless the action sets so`() throws {
    let participant = SaveCounter()
    let coordinator = try #require(stack.connect.newActionContext().persistentStoreCoordinator)
    coordinator.addSaveParticipant(participant)
    try stack.inActionContext { context in
      context.insert(ConnectEntity1.make(1, "String 1"))
      try context.save()
      #expect(participant.count == 0)
      context.recordsChanges = true
      context.insert(ConnectEntity1.make(2, "String 2"))
      try context.save()
    }
    #expect(participant.count == 1)
  }

  @Test func `objects made without a context are inserted and saved in perform`() async throws {
    let context = stack.connect.newActionContext()
    try await context.perform {
      for id in Int64(1)...10 { context.insert(ConnectEntity1.make(id, "String \(id)")) }
      try context.save()
    }
    try checkTen()
  }

  @Test func `objects made without a context are inserted and saved in performAndWait`() throws {
    let objects = (Int64(1)...10).map { ConnectEntity1.make($0, "String \($0)") }
    try stack.inActionContext { context in
      for object in objects { context.insert(object) }
      try context.save()
    }
    try checkTen()
  }

  @Test func `an object without a context stays readable`() {
    let object = ConnectEntity1.make(3, "three")
    #expect(object.id == 3 && object.string == "three" && object.bool == false)
    #expect(object.managedObjectContext == nil)
  }

  @Test func `the error of a block in an action's context is thrown to the caller`() throws {
    #expect(throws: MockError.self) { try stack.inActionContext { _ in throw MockError() } }
  }

  @Test func `in a conflict the properties that the action has set win`() throws {
    try stack.inActionContext { context in
      context.insert(ConnectEntity1.make(1, "first"))
      try context.save()
    }
    try stack.inActionContext { context in
      let object = try #require(try context.fetch(FetchRequest(ConnectEntity1.self)).first)
      object.string = "action"
      let other = stack.connect.newBackgroundContext()
      try other.performAndWait {
        let same = try #require(try other.fetch(FetchRequest(ConnectEntity1.self)).first)
        same.string = "other"
        same.binary = nil
        try other.save()
      }
      try context.save()
    }
    try stack.read { context in
      let object = try #require(try context.fetch(FetchRequest(ConnectEntity1.self)).first)
      #expect(object.string == "action")
      #expect(object.binary == nil)
    }
  }
}

/// Counts the calls of a save participant.
private final class SaveCounter: SaveParticipant {
  private let saves = Mutex(0)
  var count: Int { saves.withLock { $0 } }

  func observes(_ entity: EntityDescription) -> Bool { true }
  func participate(in save: inout SaveParticipation) { saves.withLock { $0 += 1 } }
}
