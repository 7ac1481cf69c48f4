public import Foundation

extension PersistentStoreCoordinator {
  /// Copies a store into a new file, for a backup or for another program. Blocks the calling thread for the time of the
  /// copy; contexts, and other processes, read and save meanwhile.
  ///
  /// The copy has the state of one commit: all saves that returned before the call, and no part of a save. It has the
  /// identifier of the store, and opens as the store does. Unsaved changes of contexts are not in it.
  ///
  /// Cost: a read of the whole store, and a write of its records. The log of a SQLite store is not shortened meanwhile,
  /// so that it grows with the saves during the copy. A process killed during the copy leaves an incomplete file
  /// at the location, which does not open as a store.
  ///
  /// - Parameters:
  ///   - store: A store that is attached to any coordinator.
  ///   - url: The location of the copy, at which no file may exist.
  /// - Throws: ``ErrorCode/unsupported`` for a store that is no ``StoreCopying``, such as a store in memory or in
  ///   PostgreSQL; ``ErrorCode/storeInaccessible`` when a file exists at the location, or the location cannot be
  ///   written; ``ErrorCode/cancelled`` when the calling task is cancelled during the copy; errors of the store. After an
  ///   error, no file is at the location that was not there before.
  public final func copy(_ store: any PersistentStore, to url: URL) throws {
    guard let store = store as? any StoreCopying else {
      throw CoherenceError(
        .unsupported,
        "A store of the type '\(store.type.name)' does not copy itself; use the tools of its server, or insert its "
          + "records into another store.")
    }
    try store.copy(to: url)
  }
}
