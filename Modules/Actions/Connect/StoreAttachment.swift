import CoherenceCore
import Foundation

/// A store that a Connect attached, remembered until it is detached.
struct StoreAttachment: Sendable {
  var directory: URL
  var configuration: StoreConfiguration
  /// The store; `nil` while the Connect is stopped.
  var store: (any PersistentStore)?

  /// Whether this is the same store, detached by a stop.
  func isWaiting(for configuration: StoreConfiguration, at directory: URL) -> Bool {
    store == nil && self.configuration == configuration && self.directory == directory
  }
}
