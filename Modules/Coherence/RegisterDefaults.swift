public import CoherenceCore
import CoherenceInMemory
import CoherenceSQLite

/// Linking this module is enough: `StoreConfiguration()`, and configurations that name "SQLite" or "InMemory", find
/// their backends in `StoreRegistry.shared`.
extension LinkedBackends: BackendProvider {
  package static var providedTypes: [StoreType] { [.sqlite, .inMemory] }
}

/// Registers the store types of this module, "SQLite" and "InMemory", in a registry of your own. Written
/// `Coherence.registerDefaults(in: registry)`; a second call has no effect.
///
/// `StoreRegistry.shared` has both types without a call, and configurations with the type itself, such as
/// `StoreConfiguration(type: .sqlite)`, need no registry.
public func registerDefaults(in registry: StoreRegistry = .shared) {
  for type in LinkedBackends.providedTypes where !registry.registeredTypes.contains(type.name) {
    // Another thread may have registered the type first, with the same result.
    try? registry.register(type)
  }
}
