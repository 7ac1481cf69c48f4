/// A kind of store with a way to erase its stores, so that the next one in the place begins empty.
///
/// Without it, a store to be erased is set aside, and its content is kept there.
public protocol StoreErasing: StoreFactory {
  /// Removes a store with all of its content. Does nothing at a place without a store. The caller sees to it that the
  /// store is not open.
  ///
  /// - Throws: ``ErrorCode/storeBusy`` when the kind of store notices that it is open nevertheless;
  ///   ``ErrorCode/storeInaccessible`` when its place refuses.
  func erase(_ environment: StoreEnvironment) throws
}
