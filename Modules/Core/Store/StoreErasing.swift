/// A factory with an operation to erase stores, so that the next store at the location begins empty.
///
/// A store of a factory without the refinement is set aside with its content instead.
public protocol StoreErasing: StoreFactory {
  /// Removes a store with all its content. Does nothing at a location without a store. The caller ensures that no store
  /// at the location is open.
  ///
  /// - Throws: ``ErrorCode/storeBusy`` when the factory notices an open store at the location;
  ///   ``ErrorCode/storeInaccessible`` when the location cannot be written.
  func erase(_ environment: StoreEnvironment) throws
}
