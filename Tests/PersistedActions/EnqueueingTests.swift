import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherencePersistedActions
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

@Suite struct EnqueueingTests {
  @Test(arguments: Backend.available)
  func `an action runs once, with its payload, after its save has committed`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let handle = try stack.saving { context in
      try context.insertNote("data")
      return try context.enqueue(Mark(board: stack.boardName, text: "payload ö"))
    }
    #expect(try await stack.state(of: handle) == .waiting)

    let worker = try stack.worker(ManualClock())
    #expect(try await worker.runDueActions() == 1)
    #expect(try await worker.runDueActions() == 0)
    #expect(stack.board.marks == ["payload ö"])
    #expect(try await stack.state(of: handle) == .succeeded)
  }

  @Test(arguments: Backend.available)
  func `an action of a save that fails or is rolled back never runs`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let context = stack.container.newBackgroundContext()
    try context.performAndWait {
      try context.enqueue(Mark(board: stack.boardName))
      _ = try context.insertNewObject(forEntityName: "Note")
      // The save fails because the note has no text, which the model requires.
      #expect(throws: CoherenceError.self) { try context.save() }
      context.rollback()
      try context.save()
    }
    #expect(try await stack.worker(ManualClock()).runDueActions() == 0)
    #expect(try await stack.actions.counts() == [:])
  }

  @Test(arguments: Backend.available)
  func `an action for a store that is not attached is refused, and the save of the context leaves it out`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let stranger = try stack.makeStranger()
    let store = try #require(stranger.persistentStoreCoordinator.persistentStores.first)
    try stack.saving { context in
      #expect {
        try context.enqueue(Mark(board: stack.boardName), in: store)
      } throws: {
        ErrorCode.storeDetached ~= $0
      }
      try context.insertNote("kept")
    }
    #expect(try await stack.actions.counts() == [:])
    #expect(try stack.notes() == ["kept"])
    withExtendedLifetime(stranger) {}
  }

  @Test(arguments: Backend.available)
  func `an action with a date that no store can keep is refused, and the save of the context leaves it out`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    try stack.saving { context in
      for interval in [Double.infinity, -.infinity, .nan, 1e15] {
        #expect {
          try context.enqueue(Mark(board: stack.boardName), at: Date(timeIntervalSince1970: interval))
        } throws: { error in
          ErrorCode.invalidValue ~= error && "\(error)".contains("'Mark'")
        }
      }
      try context.insertNote("kept")
    }
    #expect(try await stack.actions.counts() == [:])
    #expect(try stack.notes() == ["kept"])
  }

  @Test(arguments: Backend.available)
  func `an action with a date runs once the worker's clock has reached the date`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let handle = try stack.enqueue(Mark(board: stack.boardName), at: time.date.addingTimeInterval(60))
    let worker = try stack.worker(time)
    #expect(try await worker.runDueActions() == 0)
    #expect(try await stack.state(of: handle) == .scheduled)

    time.advance(by: .seconds(60))
    #expect(try await worker.runDueActions() == 1)
  }

  @Test(arguments: Backend.available)
  func `setting the worker's date back delays only actions with a date`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    try stack.enqueue(Mark(board: stack.boardName, text: "dated"), at: time.date)
    try stack.enqueue(Mark(board: stack.boardName, text: "undated"))
    time.date -= 86_400 * 365
    let worker = try stack.worker(time)
    #expect(try await worker.runDueActions() == 1)
    #expect(stack.board.marks == ["undated"])

    time.date += 86_400 * 365
    #expect(try await worker.runDueActions() == 1)
  }

  @Test(arguments: Backend.available)
  func `enqueueing an equal unique key returns the unfinished action, but never a finished action`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let first = try stack.enqueue(Mark(board: stack.boardName, text: "1"), key: "album 7")
    let second = try stack.enqueue(Mark(board: stack.boardName, text: "2"), key: "album 7")
    #expect(second == first)
    try stack.enqueue(Mark(board: stack.boardName, text: "3"), key: "album 8")
    try stack.enqueue(Fail(board: stack.boardName, times: 0), key: "album 7")

    let worker = try stack.worker(ManualClock()) { $0.concurrency = 1 }
    #expect(try await worker.runDueActions() == 3)
    #expect(stack.board.marks == ["1", "3", "attempt 1"])

    let third = try stack.enqueue(Mark(board: stack.boardName, text: "4"), key: "album 7")
    #expect(third != first)
    #expect(try await worker.runDueActions() == 1)
  }

  /// The action `Mark` in a later version of the program, in which the type has another name.
  private struct Stamp: PersistedAction {
    static let formerNames = ["Mark"]
    let board: String
    func run(in context: PersistedActionContext) async throws {}
  }

  @Test(arguments: Backend.available)
  func `enqueueing a renamed action with the unique key of an unfinished action returns that action`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let first = try stack.enqueue(Mark(board: stack.boardName), key: "album 7")
    #expect(try stack.enqueue(Stamp(board: stack.boardName), key: "album 7") == first)
    #expect(try stack.enqueue(Stamp(board: stack.boardName), key: "album 8") != first)
  }

  @Test(arguments: Backend.available)
  func `a context with a pinned snapshot enqueues an equal action once the former action has finished`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let context = stack.container.newBackgroundContext()
    func enqueue(_ text: String) throws -> PersistedActionHandle {
      try context.performAndWait {
        let handle = try context.enqueue(Mark(board: stack.boardName, text: text), uniqueKey: "key")
        // The unsaved action is equal too.
        let other = try context.enqueue(Mark(board: stack.boardName, text: text), uniqueKey: "key")
        #expect(other == handle)
        try context.save()
        return handle
      }
    }
    try context.performAndWait { try context.pinSnapshot() }
    let first = try enqueue("1")
    #expect(try enqueue("2") == first)
    let worker = try stack.worker(ManualClock())
    #expect(try await worker.runDueActions() == 1)
    // The snapshot has the state of the last save, in which the action is unfinished.
    #expect(try enqueue("3") != first)
    #expect(try await worker.runDueActions() == 1)
    #expect(stack.board.marks == ["1", "3"])
  }

  @Test(arguments: Backend.available)
  func `two saves with equal actions leave one action, and both commit their other changes`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let stranger = try stack.makeStranger()
    let mine = stack.container.newBackgroundContext()
    let other = stranger.newBackgroundContext()
    var handles: [PersistedActionHandle] = []
    // Both contexts enqueue before the first save, so that `enqueue` finds no stored action to return.
    for (context, text) in [(mine, "mine"), (other, "other")] {
      try context.performAndWait {
        try context.insertNote(text)
        handles.append(try context.enqueue(Mark(board: stack.boardName, text: text), uniqueKey: "key"))
      }
    }
    try mine.performAndWait { try mine.save() }
    try other.performAndWait {
      try other.save()
      #expect(!other.hasChanges)
    }

    #expect(try stack.notes() == ["mine", "other"])
    #expect(try await stack.worker(ManualClock()).runDueActions() == 1)
    #expect(stack.board.marks == ["mine"])
    // The second save has omitted its action, so its handle finds the action of the first save.
    #expect(try await stack.actions.action(handles[1])?.handle == handles[0])
  }

  @Test(arguments: Backend.available)
  func `the handle of an action that a save has left out finds the unfinished action, not a later finished one`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let first = try stack.enqueue(Mark(board: stack.boardName, text: "first"), key: "key")
    try await stack.actions.cancel(first)
    try stack.enqueue(Mark(board: stack.boardName, text: "second"), key: "key")
    #expect(try await stack.worker(ManualClock()).runDueActions() == 1)
    let context = stack.container.newBackgroundContext()
    let handle = try context.performAndWait {
      try context.enqueue(Mark(board: stack.boardName, text: "third"), uniqueKey: "key")
    }
    #expect(try await stack.actions.retry(first))
    try context.performAndWait { try context.save() }
    #expect(try await stack.actions.action(handle)?.handle == first)
    #expect(try await stack.actions.action(handle)?.state == .waiting)
  }

  @Test(arguments: Backend.available)
  func `a save that leaves an equal action out and then fails keeps the action for the next save`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let stranger = try stack.makeStranger()
    let context = stranger.newBackgroundContext()
    let participant = RefusingParticipant()
    try context.performAndWait {
      try context.insertNote("note")
      try context.enqueue(Mark(board: stack.boardName, text: "later"), uniqueKey: "key")
    }
    try stack.enqueue(Mark(board: stack.boardName, text: "first"), key: "key")
    stranger.persistentStoreCoordinator.addSaveParticipant(participant)
    context.performAndWait {
      #expect(throws: (any Error).self) { try context.save() }
      #expect(context.insertedObjects.count == 2)
    }
    #expect(try stack.notes().isEmpty)
    let worker = try stack.worker(ManualClock())
    #expect(try await worker.runDueActions() == 1)
    stranger.persistentStoreCoordinator.removeSaveParticipant(participant)
    try context.performAndWait { try context.save() }
    #expect(try stack.notes() == ["note"])
    #expect(try await worker.runDueActions() == 1)
    #expect(stack.board.marks == ["first", "later"])
  }

  /// A context that has inserted a note into each of two stores and an action into the second store, in which another
  /// context has saved an equal action since.
  private func contextWithEqualAction(_ stack: ActionStack) throws -> (BackgroundContext, [any PersistentStore]) {
    try stack.container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    let stores = stack.container.persistentStoreCoordinator.persistentStores
    let context = stack.container.newBackgroundContext()
    try context.performAndWait {
      for (store, text) in zip(stores, ["one", "two"]) {
        let note = try context.insertNewObject(forEntityName: "Note")
        try note.setValue(text, for: "text")
        try context.assign(note, to: store)
      }
      try context.enqueue(Mark(board: stack.boardName, text: "later"), uniqueKey: "key", in: stores[1])
    }
    _ = try stack.saving {
      try $0.enqueue(Mark(board: stack.boardName, text: "first"), uniqueKey: "key", in: stores[1])
    }
    return (context, stores)
  }

  @Test(arguments: Backend.available)
  func `a save over two stores leaves an equal action of the second store out, and saves everything else`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let (context, _) = try contextWithEqualAction(stack)
    try context.performAndWait {
      try context.save()
      #expect(!context.hasChanges)
    }
    #expect(try stack.notes() == ["one", "two"])
    #expect(try await stack.worker(ManualClock()).runDueActions() == 1)
    #expect(stack.board.marks == ["first"])
  }

  @Test(arguments: Backend.available)
  func `a save over two stores that fails after it left an equal action out reports the store that was saved`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let (context, stores) = try contextWithEqualAction(stack)
    let participant = RefusingParticipant(in: stores[1].identifier)
    stack.container.persistentStoreCoordinator.addSaveParticipant(participant)
    context.performAndWait {
      let error = #expect(throws: CoherenceError.self) { try context.save() }
      #expect(error?.code == .partialSave)
      #expect((error?.underlying as? CoherenceError)?.code == .validationFailed)
      #expect(error?.outcomes == [stores[0].identifier: .applied, stores[1].identifier: .notApplied])
      #expect(context.insertedObjects.count == 2)
    }
    #expect(try stack.notes() == ["one"])
    stack.container.persistentStoreCoordinator.removeSaveParticipant(participant)
    try context.performAndWait { try context.save() }
    #expect(try stack.notes() == ["one", "two"])
  }

  /// Refuses each save of changes without an action, in all stores or in a single one.
  private final class RefusingParticipant: SaveParticipant {
    struct Refusal: Error {}
    private let store: StoreIdentifier?

    init(in store: StoreIdentifier? = nil) { self.store = store }

    func observes(_ entity: EntityDescription) -> Bool { true }

    func participate(in save: inout SaveParticipation) throws {
      if let store, save.store.identifier != store { return }
      guard save.changes.contains(where: { $0.entity.name == "CoherencePersistedAction" }) else { throw Refusal() }
    }
  }

  @Test func `a context without the entities refuses an action and names the function that adds them`() throws {
    let container = ActionStack.Container(name: "Plain", managedObjectModel: ActionStack.plainModel)
    let context = container.newBackgroundContext()
    context.performAndWait {
      let error = #expect(throws: CoherenceError.self) { try context.enqueue(Mark(board: "none")) }
      #expect(error?.code == .invalidModel)
      #expect(error?.message.contains("addingPersistedActions()") == true)
    }
    #expect(throws: CoherenceError.self) { try PersistedActionWorker(container, actions: [Mark.self]) }
  }

  @Test func `adding the entities to a model twice changes nothing`() throws {
    let model = ActionStack.model
    #expect(try model.addingPersistedActions() === model)
    #expect(model.entitiesByName["Note"] != nil)
    let configured = try ManagedObjectModel(configurations: ["A": ["Note"], "B": []]) {
      Entity("Note") { Attribute("text", .string) }
    }
    let names = try configured.addingPersistedActions().entities(forConfigurationName: "B")?.map(\.name)
    #expect(names == ["CoherencePersistedAction", "CoherenceActionWorker"])
  }
}
