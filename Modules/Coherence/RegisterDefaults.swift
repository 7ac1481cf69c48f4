public import CoherenceCore
import CoherenceInMemory
import CoherenceSQLite

/// Linking this module is enough: `StoreConfiguration()`, and configurations that name "SQLite" or "InMemory", find
/// their backends in `StoreRegistry.shared`.
extension LinkedBackends: BackendProvider {
  package static var providedTypes: [StoreType] { [.sqlite, .inMemory] }
}

/// Makes the backends of this module known by name, "SQLite" and "InMemory", to a registry of your own. Written
/// `Coherence.registerDefaults(in: registry)`; calling it again does nothing.
///
/// `StoreRegistry.shared` knows them without a call, and configurations that give the type itself, as
/// `StoreConfiguration(type: .sqlite)`, need no registry.
public func registerDefaults(in registry: StoreRegistry = .shared) {
  for type in LinkedBackends.providedTypes where !registry.registeredTypes.contains(type.name) {
    // Another thread may have registered the type first, with the same result.
    try? registry.register(type)
  }
}
