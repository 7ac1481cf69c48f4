/// A store able to keep other writers out while a caller reads, and saves the changes that it planned from the reading.
///
/// Core uses it for saves that have lost races to other writers: tried once more while nobody else can save, they come
/// through. Without it, Core tries beside the other writers, and the caller gets a retryable error in the end.
public protocol WriterExcluding: PersistentStore {
  /// Runs a block while no other thread and no other process can change records of the store. Other writers wait;
  /// readers continue.
  ///
  /// Readers that the block makes see the latest committed state. The first save of the calling thread that succeeds is
  /// committed, and lets the other writers in. A refused save changes nothing, and the other writers stay out. The calls
  /// may be nested.
  ///
  /// The block must not wait for another thread: that thread may be waiting to save.
  ///
  /// - Throws: What the block throws; ``ErrorCode/storeReadOnly``, ``ErrorCode/storeDetached``; errors of a store that
  ///   cannot keep other writers out, with the block not run.
  func excludingWriters<T>(_ body: () throws -> T) throws -> T
}
