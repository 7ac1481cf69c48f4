import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherencePersistedActions
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// The store that an action is enqueued in, beside another store of actions.
@Suite("The store of an action", .timeLimit(.minutes(15)))
struct ActionStoreTests {
  @Test(arguments: Backend.available)
  func `equal actions for two stores are two actions, saved or not, and one action in each store`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    try stack.container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    let stores = stack.container.persistentStoreCoordinator.persistentStores
    let context = stack.container.newBackgroundContext()
    func enqueue(_ text: String, in store: any PersistentStore) throws -> PersistedActionHandle {
      try context.enqueue(Mark(board: stack.boardName, text: text), uniqueKey: "key", in: store)
    }
    try context.performAndWait {
      let first = try enqueue("first", in: stores[0])
      let second = try enqueue("second", in: stores[1])
      #expect(first != second)
      for isSaved in [false, true] {
        if isSaved { try context.save() }
        #expect(try enqueue("equal", in: stores[0]) == first)
        #expect(try enqueue("equal", in: stores[1]) == second)
      }
    }
    #expect(try await stack.worker(ManualClock()).runDueActions() == 2)
    #expect(Set(stack.board.marks) == ["first", "second"])
  }

  @Test(arguments: Backend.available)
  func `a handle without a record finds the equal action of its own store, and none of another store`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let second = try stack.container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    let first = try #require(stack.container.persistentStoreCoordinator.persistentStores.first)
    let mark = Mark(board: stack.boardName)
    let context = stack.container.newBackgroundContext()
    let omitted = try context.performAndWait { try context.enqueue(mark, uniqueKey: "key", in: second) }
    let handles = try [first, second].map { store in
      try stack.saving { try $0.enqueue(mark, uniqueKey: "key", in: store) }
    }
    try context.performAndWait { try context.save() }
    #expect(try await stack.actions.action(omitted)?.handle == handles[1])
    #expect(try await stack.actions.cancel(omitted))
    #expect(try await stack.state(of: handles[0]) == .waiting)
    #expect(try await stack.state(of: handles[1]) == .canceled)

    let stored = try JSONDecoder().decode(PersistedActionHandle.self, from: JSONEncoder().encode(handles[1]))
    #expect(stored == handles[1] && stored.storeIdentifier == second.identifier)
    #expect(try await stack.actions.delete(handles[1]))
    for handle in [handles[1], stored, omitted] {
      #expect(try await stack.actions.action(handle)?.handle == nil)
      await #expect(throws: CoherenceError.self) { try await stack.actions.cancel(handle) }
    }
    #expect(try await stack.state(of: handles[0]) == .waiting)
  }

  @Test func `a stored handle without a store is decoded, and equals the handle of its action`() async throws {
    let stack = try ActionStack()
    let handle = try stack.enqueue(Mark(board: stack.boardName), key: "key")
    let text = #"{"id": "\#(handle.id)", "name": "Mark", "uniqueKey": "key"}"#
    let stored = try JSONDecoder().decode(PersistedActionHandle.self, from: Data(text.utf8))
    #expect(stored.storeIdentifier == nil)
    #expect(try await stack.actions.action(stored)?.handle == stored)
  }

  /// Commits a note in the store of the action.
  private struct WriteInOwnStore: PersistedAction {
    let text: String

    func run(in context: PersistedActionContext) async throws {
      try await context.commit { [store = context.store] changes in
        let note = try changes.insertNewObject(forEntityName: "Note")
        try note.setValue(text, for: "text")
        if let store { try changes.assign(note, to: store) }
      }
    }
  }

  @Test(arguments: Backend.available)
  func `an action commits a new record in its own store, although another store is the first one`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let store = try stack.container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    let handle = try stack.saving { try $0.enqueue(WriteInOwnStore(text: "note"), in: store) }
    let worker = try PersistedActionWorker(
      stack.container, actions: [WriteInOwnStore.self], clock: ManualClock().workerClock)
    #expect(try await worker.runDueActions() == 1)
    #expect(try await stack.state(of: handle) == .succeeded)
    let context = stack.container.newBackgroundContext()
    let stores = try context.performAndWait {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Note")).map(\.objectID.storeIdentifier)
    }
    #expect(stores == [store.identifier])
  }
}
