import CoherenceCore
import CoherenceStrategies
import Dispatch
import Foundation
import Logging

extension PersistenceManager {
  /// Attaches the stores, making and migrating them where need be, and waits for it. All are attached, or none.
  ///
  /// - Throws: ``ErrorCode/storeAttachedTwice`` when they are loaded already; ``ErrorCode/modelNotFound``; what attaching
  ///   throws, for example ``ErrorCode/incompatibleModel``.
  public final func load() throws { try doorway.sync { try attachStores() } }

  /// Attaches the stores; see the form that waits.
  public final func load() async throws {
    try await atDoorway { try self.attachStores() }
  }

  /// Attaches the stores elsewhere and calls back once, on the main queue. A program that does not serve its main queue
  /// uses one of the other forms.
  ///
  /// - Parameter completion: Is told whether all stores are attached now by this call. What went wrong otherwise is told
  ///   to the container's error handler before, on another queue, and by the other forms.
  public final func load(completion: @escaping @Sendable (Bool) -> Void) {
    doorway.async {
      do {
        try self.attachStores()
        DispatchQueue.main.async { completion(true) }
      } catch {
        // Not at the doorway, which the handler may want to go through.
        Self.apart.async {
          self.container.errorHandler(error)
          DispatchQueue.main.async { completion(false) }
        }
      }
    }
  }

  /// Whether there are stores to work with.
  public final var isLoaded: Bool { !container.persistentStoreCoordinator.persistentStores.isEmpty }

  /// Removes the stores with all of their content, at once, and loads empty ones elsewhere; see `destroy()`.
  ///
  /// - Parameter completion: As of ``load(completion:)``.
  /// - Throws: What removing throws; nothing is called then.
  public final func destroy(completion: @escaping @Sendable (Bool) -> Void) throws {
    try destroy()
    DispatchQueue.main.async { completion(true) }
  }

  /// Removes the stores with all of their content and loads empty ones; see the form that waits.
  public final func destroy() async throws {
    try await withCheckedThrowingContinuation { continuation in
      // Not at the doorway, which the form that waits goes through.
      Self.apart.async { continuation.resume(with: Result { try self.destroy() }) }
    }
  }

  /// A fresh serial queue, which has a thread for itself. Stores and handlers block, and the few threads of a global queue
  /// belong to all tasks.
  private static var apart: DispatchQueue { DispatchQueue(label: "coherence.mapping.apart") }

  // MARK: At the doorway

  private func atDoorway(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { continuation in
      doorway.async { continuation.resume(with: Result { try body() }) }
    }
  }

  private func attachStores() throws {
    try findModel()
    guard !isLoaded else {
      throw CoherenceError(
        .storeAttachedTwice, "The stores of '\(modelName)' are loaded already; load them once, and share the manager.")
    }
    try container.attachPersistentStores(for: storeConfigurations)
  }

  final func destroyStores() throws {
    try findModel()
    let coordinator = container.persistentStoreCoordinator
    let attached = coordinator.persistentStores
    guard !attached.isEmpty else {
      let environments = try environments()
      try coordinator.withSoleUse(of: environments.compactMap(place)) { try environments.forEach(erase) }
      return try attachStores()
    }
    let environments = attached.map(\.environment)
    let erased = try coordinator.withSoleUse(of: attached.map { StorePlace($0) }) {
      try container.detach(persistentStores: attached)
      threadContexts.removeAll()
      return Result { try environments.forEach(erase) }
    }
    for environment in environments {
      try coordinator.addPersistentStore(
        type: environment.type, configurationName: environment.configurationName, at: environment.url,
        options: environment.options)
    }
    try erased.get()
  }

  /// Where the stores will be that are to be loaded.
  private func environments() throws -> [StoreEnvironment] {
    let coordinator = container.persistentStoreCoordinator
    return try storeConfigurations.map { configuration in
      let factory = try coordinator.factory(for: configuration.type)
      return coordinator.environment(
        type: configuration.type, configurationName: configuration.name,
        at: configuration.resolveURL(
          defaultStorePrefix: container.name, storeLocation: container.storeLocation, usesFiles: factory.usesFiles),
        options: configuration.options)
    }
  }

  /// The place of a store that is not loaded; `nil` where there is none, or nothing that says which store it is.
  private func place(_ environment: StoreEnvironment) -> StorePlace? {
    let factory = try? container.persistentStoreCoordinator.factory(for: environment.type)
    let metadata = try? factory?.metadata(environment)
    return metadata.map { StorePlace(identifier: $0.identifier, url: environment.url) }
  }

  private func erase(_ environment: StoreEnvironment) throws {
    let factory = try container.persistentStoreCoordinator.factory(for: environment.type)
    if let eraser = factory as? any StoreErasing { return try eraser.erase(environment) }
    let refuge = try factory.setAside(environment)
    environment.logger.info("A store that cannot be erased was moved aside.", metadata: ["place": "\(refuge)"])
  }
}
