import Synchronization

/// The available backends by the names of their store types.
///
/// A configuration may give the type of its store as a name. The name is looked up in the registry passed to the
/// coordinator, else in the registry bound to the current task with ``withValue(operation:)``, else in ``shared``. May
/// be used on any thread.
public final class StoreRegistry: Sendable {
  /// The registry of this process. Includes the backends of the module `Coherence` in programs that link it; registered
  /// types take precedence.
  public static let shared = StoreRegistry { LinkedBackends.storeTypes }
  @TaskLocal private static var bound: StoreRegistry?
  private let factories = Mutex<[String: any StoreFactory]>([:])
  /// Returns the types of the linked modules, which need no registration.
  private let defaults: @Sendable () -> [String: StoreType]

  /// Makes a registry without backends.
  public convenience init() { self.init { [:] } }

  private init(defaults: @escaping @Sendable () -> [String: StoreType]) { self.defaults = defaults }

  /// The registry bound to the current task, or ``shared``.
  public static var current: StoreRegistry { bound ?? shared }

  /// Runs an operation with this registry in place of ``shared``.
  public func withValue<T>(operation: () throws -> T) rethrows -> T {
    try Self.$bound.withValue(self, operation: operation)
  }

  /// Runs an asynchronous operation with this registry in place of ``shared``.
  public func withValue<T>(
    isolation: isolated (any Actor)? = #isolation, operation: () async throws -> T
  ) async rethrows -> T {
    try await Self.$bound.withValue(self, operation: operation, isolation: isolation)
  }

  /// Registers a backend under the name of its store type.
  ///
  /// - Parameter factory: Opens the stores of the type; `nil` for the type's own factory.
  /// - Throws: ``ErrorCode/storeTypeRegisteredTwice`` when the name is taken; the first registration stays.
  ///   ``ErrorCode/unknownStoreType`` for `nil` and a type without a factory.
  public func register(_ type: StoreType, factory: (any StoreFactory)? = nil) throws {
    guard let factory = factory ?? type.factory else {
      throw CoherenceError(.unknownStoreType, "Store type '\(type)' cannot be registered without a factory; pass one.")
    }
    try factories.withLock { factories in
      guard factories[type.name] == nil else {
        throw CoherenceError(
          .storeTypeRegisteredTwice, "A backend for store type '\(type)' is registered already; register each once.")
      }
      factories[type.name] = factory
    }
  }

  /// The names of the known types, sorted.
  public var registeredTypes: [String] { Set(factories.withLock { $0.keys }).union(defaults().keys).sorted() }

  /// Returns the factory of a store type: the type's own factory, or the factory registered under its name.
  ///
  /// - Throws: ``ErrorCode/unknownStoreType``; the message lists the known types, and two ways to add the missing type.
  public func factory(for type: StoreType) throws -> any StoreFactory {
    if let factory = type.factory { return factory }
    if let factory = factories.withLock({ $0[type.name] }) ?? defaults()[type.name]?.factory { return factory }
    let known = registeredTypes.joined(separator: ", ")
    throw CoherenceError(
      .unknownStoreType,
      "Store type '\(type)' is unknown (known: \(known.isEmpty ? "none" : known)). "
        + "Link the module of its backend and name the type as that module declares it, or register the backend with "
        + "`StoreRegistry.shared.register(_:factory:)`.")
  }
}
