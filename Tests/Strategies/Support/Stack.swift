import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// A container with its own store.
struct Stack {
  let directory = TemporaryDirectory()
  let container: any PersistentContainer
  let store: any PersistentStore
  private let configuration: StoreConfiguration

  var view: ManagedObjectContext { container.viewContext }

  init(_ strategy: StrategyKind, on backend: Backend, errorBlock: AsyncErrorHandlerBlock? = nil) throws {
    container = strategy.makeContainer(in: directory, errorBlock: errorBlock)
    configuration = backend.newConfiguration()
    store = try container.attachPersistentStore(for: configuration)
  }

  /// Makes a stack with a saved user, whose name the view has changed to "mine".
  static func editing(
    _ strategy: StrategyKind, on backend: Backend
  ) throws -> (stack: Stack, id: ManagedObjectID, user: ContainerUser) {
    let stack = try Stack(strategy, on: backend)
    let id = try stack.saveUser(named: "ada")
    let user = try stack.view.user(id)
    user.userName = "mine"
    return (stack, id, user)
  }

  /// A second stack on the same store, as another program would have it.
  func makeStranger() throws -> any PersistentContainer {
    let stranger = StrategyKind.directIndependent.makeContainer(in: directory)
    try stranger.attachPersistentStore(for: configuration)
    return stranger
  }

  /// Saves a user in a background context and returns its identifier.
  func saveUser(named name: String) throws -> ManagedObjectID {
    let background = container.newBackgroundContext()
    return try background.performAndWait {
      let user = try ContainerUser.insert(named: name, into: background)
      try background.save()
      return user.objectID
    }
  }

  /// Changes a user in a background context and saves.
  func change(_ id: ManagedObjectID, _ change: (ContainerUser) -> Void) throws {
    try Self.change(id, in: container, change)
  }

  /// Deletes a user in a background context and saves.
  func delete(_ id: ManagedObjectID) throws {
    try container.newBackgroundContext().saving { $0.delete(try $0.user(id)) }
  }

  /// Changes a user as another program, and saves.
  func changeAsStranger(_ id: ManagedObjectID, _ change: (ContainerUser) -> Void) throws {
    let stranger = try makeStranger()
    guard let id = stranger.persistentStoreCoordinator.objectID(forDescription: id.description) else {
      throw CoherenceError(.objectNotFound, "The other program has no identifier of the user.")
    }
    try Self.change(id, in: stranger, change)
  }

  static func change(
    _ id: ManagedObjectID, in container: any PersistentContainer, _ change: (ContainerUser) -> Void
  ) throws {
    try container.newBackgroundContext().saving { change(try $0.user(id)) }
  }

  /// Renames a user in a background context and then in the view, and expects that both saves succeed.
  @MainActor func expectSavesOfBothContexts(_ id: ManagedObjectID, _ user: ContainerUser) throws {
    try change(id) { $0.userName = "grace" }
    #expect(try view.user(id).userName == "grace")
    user.userName = "hedy"
    try view.save()
    #expect(try storedName(of: id) == "hedy")
  }

  /// A user's record in the store, read without a context; `nil` when the store has no such record.
  func storedName(of id: ManagedObjectID) throws -> String? {
    let context = ManagedObjectContext(coordinator: container.persistentStoreCoordinator)
    return try context.performAndWait {
      do {
        return try context.user(id).userName
      } catch ErrorCode.objectNotFound {
        return nil
      }
    }
  }
}

extension ManagedObjectContext {
  /// The user of that identifier, loaded.
  func user(_ id: ManagedObjectID) throws -> ContainerUser {
    guard let user = try existingObject(with: id) as? ContainerUser else {
      throw CoherenceError(.wrongType, "The object is no user.")
    }
    return user
  }
}
