import CoherenceCore
import Foundation

/// A store that a Connect has attached. A stop detaches the store and keeps the attachment for the next start. `detach`
/// removes the attachment; so does a stop, or the attachment of another store, for a store removed from the coordinator
/// directly.
struct StoreAttachment: Sendable {
  var directory: URL
  var configuration: StoreConfiguration
  /// The attached store; `nil` from a stop to the next start.
  var store: (any PersistentStore)?
  /// The store that a stop has detached, by which `detach` finds the attachment before the next start.
  weak var detachedStore: (any PersistentStore)?
  /// The identity of the store that a stop has detached.
  private(set) var detachedIdentity: StoreIdentity?
  /// The number of `detach` calls that wait for the store's actions.
  var pendingDetachCount = 0

  init(directory: URL, configuration: StoreConfiguration, store: (any PersistentStore)? = nil) {
    self.directory = directory
    self.configuration = configuration
    self.store = store
  }

  /// Notes that a stop has detached the store.
  mutating func noteStop(of store: any PersistentStore) {
    self.store = nil
    detachedStore = store
    detachedIdentity = StoreIdentity(store)
  }

  /// Whether the store is attached by this attachment, or was before a stop.
  func isAttachment(of store: any PersistentStore) -> Bool { self.store === store || detachedStore === store }

  /// Whether the next start would attach this configuration in this directory.
  func awaitsStart(for configuration: StoreConfiguration, at directory: URL) -> Bool {
    store == nil && self.configuration == configuration && self.directory == directory
  }

  /// Whether the next start would attach a store by this configuration, although the store is attached by another one
  /// since the stop.
  func awaitsStart(of store: any PersistentStore) -> Bool {
    self.store == nil && detachedIdentity == StoreIdentity(store)
  }
}
