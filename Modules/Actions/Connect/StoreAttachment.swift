import CoherenceCore
import Foundation

/// A store that a Connect has attached. A stop detaches the store and keeps the attachment for the next start; only
/// `detach` removes the attachment.
struct StoreAttachment: Sendable {
  var directory: URL
  var configuration: StoreConfiguration
  /// The attached store; `nil` while the Connect is stopped.
  var store: (any PersistentStore)?
  /// The store that a stop has detached, by which `detach` finds the attachment before the next start.
  weak var detachedStore: (any PersistentStore)?
  /// The number of `detach` calls that wait for the store's actions.
  var pendingDetachCount = 0

  init(directory: URL, configuration: StoreConfiguration, store: (any PersistentStore)? = nil) {
    self.directory = directory
    self.configuration = configuration
    self.store = store
  }

  /// Whether the store is attached by this attachment, or was before a stop.
  func isAttachment(of store: any PersistentStore) -> Bool { self.store === store || detachedStore === store }

  /// Whether the next start would attach this configuration in this directory.
  func awaitsStart(for configuration: StoreConfiguration, at directory: URL) -> Bool {
    store == nil && self.configuration == configuration && self.directory == directory
  }
}
