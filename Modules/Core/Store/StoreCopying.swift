public import Foundation

/// A store that copies itself into a file while it is in use.
///
/// ``PersistentStoreCoordinator/copy(_:to:)`` uses it, and throws ``ErrorCode/unsupported`` for a store without the
/// refinement.
public protocol StoreCopying: PersistentStore {
  /// Copies the last committed state into a new file, durably, with the store's metadata and identifier. Saves and
  /// reads of other threads and processes continue.
  ///
  /// - Throws: ``ErrorCode/storeInaccessible`` when a file exists at the location, or the location cannot be written;
  ///   ``ErrorCode/invalidOption`` for a location that is no file; ``ErrorCode/storeDetached``; ``ErrorCode/cancelled``
  ///   when the calling task is cancelled during the copy; errors of the disk. After an error, no file is at the location
  ///   that was not there before.
  func copy(to url: URL) throws
}
