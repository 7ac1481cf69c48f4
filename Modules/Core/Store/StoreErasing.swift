/// A factory that can erase stores, so that the next store at the location begins empty.
///
/// For a factory without the refinement, a store to be erased is set aside with its content.
public protocol StoreErasing: StoreFactory {
  /// Removes a store with all of its content. Does nothing at a location without a store. The caller ensures that no
  /// store is open there.
  ///
  /// - Throws: ``ErrorCode/storeBusy`` when the factory notices an open store at the location;
  ///   ``ErrorCode/storeInaccessible`` when the location cannot be written.
  func erase(_ environment: StoreEnvironment) throws
}
