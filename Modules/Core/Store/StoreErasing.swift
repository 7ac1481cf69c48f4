/// A kind of store that can be erased, so that the next one in its place begins empty.
///
/// Without it, a store that is to be erased is set aside, and its content is kept there.
public protocol StoreErasing: StoreFactory {
  /// Removes a store with all of its content. Does nothing when there is none at that place. Who calls sees to it that the
  /// store is not open.
  ///
  /// - Throws: ``ErrorCode/storeBusy`` when the kind of store can tell that it is open nevertheless;
  ///   ``ErrorCode/storeInaccessible`` when its place refuses.
  func erase(_ environment: StoreEnvironment) throws
}
