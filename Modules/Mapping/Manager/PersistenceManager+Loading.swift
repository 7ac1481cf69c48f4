import CoherenceCore
import CoherenceStrategies
import Dispatch
import Foundation
import Logging

extension PersistenceManager {
  /// Attaches the stores, and creates or migrates them if necessary. All stores are attached, or none.
  ///
  /// - Throws: ``ErrorCode/storeAttachedTwice`` for a loaded manager; ``ErrorCode/modelNotFound``; errors of attaching,
  ///   such as ``ErrorCode/incompatibleModel``.
  public final func load() throws { try lifecycleQueue.sync { try attachStores() } }

  /// Attaches the stores; see the synchronous form.
  public final func load() async throws {
    try await onLifecycleQueue { try self.attachStores() }
  }

  /// Attaches the stores on another queue, and calls the completion once, on the main queue. A program that does not
  /// run its main queue uses one of the other forms.
  ///
  /// - Parameter completion: Receives whether this call attached all stores. Before a `false`, the container's error
  ///   handler receives the error, on another queue.
  public final func load(completion: @escaping @Sendable (Bool) -> Void) {
    lifecycleQueue.async {
      do {
        try self.attachStores()
        DispatchQueue.main.async { completion(true) }
      } catch {
        // Outside the lifecycle queue, because the handler may load or destroy the stores.
        Self.blockingQueue.async {
          self.container.errorHandler(error)
          DispatchQueue.main.async { completion(false) }
        }
      }
    }
  }

  /// Whether the manager has attached stores. May be used from any thread.
  public final var isLoaded: Bool { !container.persistentStoreCoordinator.persistentStores.isEmpty }

  /// Removes the stores with all of their content, loads empty stores, and then calls the completion on the main queue;
  /// see `destroy()`.
  ///
  /// - Parameter completion: Receives `true`.
  /// - Throws: As `destroy()`, without calling the completion.
  public final func destroy(completion: @escaping @Sendable (Bool) -> Void) throws {
    try destroy()
    DispatchQueue.main.async { completion(true) }
  }

  /// Removes the stores with all of their content and loads empty stores; see the synchronous form.
  public final func destroy() async throws {
    try await withCheckedThrowingContinuation { continuation in
      // Outside the lifecycle queue, because the synchronous form runs on that queue.
      Self.blockingQueue.async { continuation.resume(with: Result { try self.destroy() }) }
    }
  }

  /// A new serial queue for work that blocks. The few threads of a global queue are shared by all tasks.
  private static var blockingQueue: DispatchQueue { DispatchQueue(label: "coherence.mapping.blocking") }

  // MARK: On the lifecycle queue

  /// Runs a block on the lifecycle queue, which runs loads and destructions one after the other, without blocking the
  /// caller.
  private func onLifecycleQueue(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { continuation in
      lifecycleQueue.async { continuation.resume(with: Result { try body() }) }
    }
  }

  /// Attaches the configured stores, all or none. Called on the lifecycle queue.
  private func attachStores() throws {
    try findModel()
    guard !isLoaded else {
      throw CoherenceError(
        .storeAttachedTwice, "The stores of '\(modelName)' are loaded already; load them once, and share the manager.")
    }
    try container.attachPersistentStores(for: storeConfigurations)
  }

  /// Erases the stores and attaches empty ones. Loaded stores are detached first, and attached again even after a
  /// failed erasure, so that the manager stays loaded. If a store cannot be attached again, no store is attached.
  /// Called on the lifecycle queue.
  final func destroyStores() throws {
    try findModel()
    let coordinator = container.persistentStoreCoordinator
    let attached = coordinator.persistentStores
    guard !attached.isEmpty else {
      let environments = try environments()
      try coordinator.withExclusiveUse(of: environments.compactMap(identity)) { try environments.forEach(erase) }
      return try attachStores()
    }
    let environments = attached.map(\.environment)
    // The error of an erasure is kept until the stores are attached again.
    let erased = try coordinator.withExclusiveUse(of: attached.map { StoreIdentity($0) }) {
      try container.detach(persistentStores: attached)
      threadContexts.removeAll()
      return Result { try environments.forEach(erase) }
    }
    let attachments = environments.map { environment in
      Result {
        // By the container: a Connect manages the entities of a store only if it attaches the store itself.
        try container.attachPersistentStore(for: configuration(of: environment))
      }
    }
    do {
      for attachment in attachments { _ = try attachment.get() }
    } catch {
      // All stores are loaded, or none: with some of them, the records of the others would seem to be missing, and
      // `load` would refuse to attach the others.
      try? container.detach(persistentStores: attachments.compactMap { try? $0.get() })
      try erased.get()
      throw error
    }
    try erased.get()
  }

  /// The configuration that attaches a store again: the configured one, if the store has one. By another configuration a
  /// Connect would attach the store beside the store of a later `load`.
  private func configuration(of environment: StoreEnvironment) -> StoreConfiguration {
    let configured = storeConfigurations.first { configuration in
      guard configuration.type == environment.type, configuration.name == environment.configurationName,
        configuration.options == environment.options
      else { return false }
      return (try? url(of: configuration)) == environment.url
    }
    return configured
      ?? StoreConfiguration(
        name: environment.configurationName, type: environment.type, options: environment.options,
        location: environment.url)
  }

  /// The location of a configured store; `nil` for a store without a location.
  private func url(of configuration: StoreConfiguration) throws -> URL? {
    let factory = try container.persistentStoreCoordinator.factory(for: configuration.type)
    return configuration.resolveURL(
      defaultStorePrefix: container.name, storeLocation: container.storeLocation, usesFiles: factory.usesFiles)
  }

  /// The environments of the configured stores.
  private func environments() throws -> [StoreEnvironment] {
    let coordinator = container.persistentStoreCoordinator
    return try storeConfigurations.map { configuration in
      coordinator.environment(
        type: configuration.type, configurationName: configuration.name, at: try url(of: configuration),
        options: configuration.options)
    }
  }

  /// The identity of an existing store before `load`; `nil` without a store, and for a store without readable metadata.
  private func identity(_ environment: StoreEnvironment) -> StoreIdentity? {
    let factory = try? container.persistentStoreCoordinator.factory(for: environment.type)
    let metadata = try? factory?.metadata(environment)
    return metadata.map { StoreIdentity(identifier: $0.identifier, url: environment.url) }
  }

  /// Erases a store; moves it aside if its type cannot erase.
  private func erase(_ environment: StoreEnvironment) throws {
    let factory = try container.persistentStoreCoordinator.factory(for: environment.type)
    if let eraser = factory as? any StoreErasing { return try eraser.erase(environment) }
    let location = try factory.setAside(environment)
    environment.logger.info("A store that cannot be erased was moved aside.", metadata: ["location": "\(location)"])
  }
}
