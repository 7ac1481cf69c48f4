import CoherenceCore
import Foundation

/// A store that a Connect attached, remembered until it is detached.
struct StoreAttachment: Sendable {
  var directory: URL
  var configuration: StoreConfiguration
  /// The store; `nil` while the Connect is stopped.
  var store: (any PersistentStore)?
  /// The store that a stop detached, so that a caller can have it forgotten before the next start.
  weak var former: (any PersistentStore)?
  /// The number of calls about to detach the store, which wait for its actions first.
  var leaving = 0

  init(directory: URL, configuration: StoreConfiguration, store: (any PersistentStore)? = nil) {
    self.directory = directory
    self.configuration = configuration
    self.store = store
  }

  /// Whether this is, or was, the attachment of a store.
  func isAttachment(of store: any PersistentStore) -> Bool { self.store === store || former === store }

  /// Whether this is the same store, detached by a stop.
  func isWaiting(for configuration: StoreConfiguration, at directory: URL) -> Bool {
    store == nil && self.configuration == configuration && self.directory == directory
  }
}
