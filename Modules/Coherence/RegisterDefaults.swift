import CoherenceCore
import CoherenceInMemory
import CoherenceSQLite

/// Makes the backends of this module known by name, "SQLite" and "InMemory", so that configurations that name them, and
/// `StoreConfiguration()`, find them. Written `Coherence.registerDefaults()`; calling it again does nothing.
///
/// Configurations that give the type itself, as `StoreConfiguration(type: .sqlite)`, need no registration.
public func registerDefaults() {
  let registry = StoreRegistry.shared
  for type in [StoreType.sqlite, .inMemory] where !registry.registeredTypes.contains(type.name) {
    // Another thread may have registered it meanwhile, which is as good.
    try? registry.register(type)
  }
}
