import CoherenceCore
import Foundation
import Synchronization

/// The working environment of a case: a store at a fresh location, a coordinator, and any number of contexts.
public final class ConformanceStack: Sendable {
  let harness: any StoreHarness
  private let state: Mutex<State>

  private struct State {
    var model: ManagedObjectModel
    var location: any StoreLocation
    var coordinator: PersistentStoreCoordinator
    var others: [PersistentStoreCoordinator] = []
    var locations: [any StoreLocation]
  }

  private init(model: ManagedObjectModel, harness: any StoreHarness) throws {
    self.harness = harness
    let location = try harness.makeLocation()
    state = Mutex(
      State(
        model: model, location: location, coordinator: PersistentStoreCoordinator(managedObjectModel: model),
        locations: [location]))
  }

  /// Runs a case on a fresh store, and removes the store after a success and after a failure.
  static func run(_ conformanceCase: ConformanceCase, on harness: any StoreHarness) async throws {
    let stack = try ConformanceStack(model: conformanceCase.model, harness: harness)
    do {
      try stack.attach(stack.location, to: stack.coordinator)
      try await conformanceCase.run(stack)
    } catch {
      try? stack.finish()
      throw error
    }
    try stack.finish()
  }

  // MARK: Stores

  var model: ManagedObjectModel { state.withLock { $0.model } }
  var coordinator: PersistentStoreCoordinator { state.withLock { $0.coordinator } }
  /// The location of the case's store.
  var location: any StoreLocation { state.withLock { $0.location } }

  /// The case's store.
  var store: any PersistentStore {
    get throws { try unwrap(coordinator.persistentStores.first, "a store") }
  }

  /// Attaches a store to a coordinator.
  @discardableResult
  func attach(
    _ location: any StoreLocation, to coordinator: PersistentStoreCoordinator, type: StoreType? = nil,
    configuration: String? = nil, options: [String: OptionValue] = [:]
  ) throws -> any PersistentStore {
    let configuration = StoreConfiguration(
      name: configuration, type: type ?? location.type, options: location.options.merging(options) { $1 },
      location: location.url)
    try location.willOpen(
      coordinator.environment(
        type: location.type, configurationName: configuration.name, at: location.url, options: configuration.options))
    return try coordinator.addPersistentStore(configuration, at: location.url)
  }

  /// Detaches every store of the case's coordinator.
  func close() throws { try Self.close(coordinator) }

  private static func close(_ coordinator: PersistentStoreCoordinator) throws {
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  /// Closes the store and opens it again with a new coordinator, which replaces the case's coordinator.
  ///
  /// If the store cannot be opened, it stays closed and the coordinator has no store.
  ///
  /// - Parameter location: The location of another store to open, which becomes the case's store.
  func reopen(
    at location: (any StoreLocation)? = nil, model: ManagedObjectModel? = nil, type: StoreType? = nil,
    options: [String: OptionValue] = [:]
  ) throws {
    try close()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model ?? self.model)
    state.withLock {
      $0.coordinator = coordinator
      if let model { $0.model = model }
      if let location { $0.location = location }
    }
    try attach(self.location, to: coordinator, type: type, options: options)
  }

  /// Another coordinator on the same store.
  func anotherCoordinator() throws -> PersistentStoreCoordinator {
    let coordinator = makeCoordinator()
    try attach(location, to: coordinator)
    return coordinator
  }

  /// A coordinator without stores, which is closed at the end.
  func makeCoordinator(model: ManagedObjectModel? = nil) -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model ?? self.model)
    state.withLock { $0.others.append(coordinator) }
    return coordinator
  }

  /// Another place, which is destroyed at the end.
  func makeLocation(companion: Bool = false) throws -> any StoreLocation {
    let location = try companion ? harness.makeCompanionLocation() : harness.makeLocation()
    state.withLock { $0.locations.append(location) }
    return location
  }

  private func finish() throws {
    let (coordinators, locations) = state.withLock { ([$0.coordinator] + $0.others, $0.locations) }
    for coordinator in coordinators { try Self.close(coordinator) }
    for location in locations { try location.destroy() }
  }

  // MARK: Contexts

  /// A fresh context on the case's coordinator.
  func context(_ policy: MergePolicy = .error) -> ManagedObjectContext {
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    context.mergePolicy = policy
    return context
  }

  /// Runs the body in a new context.
  @discardableResult
  func read<T>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
    let context = context()
    return try context.performAndWait { try body(context) }
  }

  /// Runs the body in a new context and saves.
  @discardableResult
  func write<T>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
    let context = context()
    return try context.performAndWait {
      let result = try body(context)
      try context.save()
      return result
    }
  }

  /// Runs the body in a new context and a child of it, entered one within the other.
  func nested(
    _ body: (_ parent: ManagedObjectContext, _ child: ManagedObjectContext) throws -> Void
  ) throws {
    let parent = context()
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    try parent.performAndWait { try child.performAndWait { try body(parent, child) } }
  }
}
