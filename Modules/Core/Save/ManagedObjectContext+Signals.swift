extension ManagedObjectContext {
  /// Signals a channel of the saved stores with the next save of this context that reaches a store.
  ///
  /// A PostgreSQL store signals in the transaction of the save; other stores signal at its commit. So a reader of
  /// ``PersistentStoreCoordinator/signals(_:)`` finds the saved records, and the signal costs no transaction of its
  /// own.
  ///
  /// After a failed save, and after a save without changes, the signal waits for the next save. A save into a parent
  /// passes the signal to the parent. ``rollback()`` and ``reset()`` drop the signal, and so does a save whose changes
  /// the merge policy discards. Two calls for a channel before a save signal once.
  ///
  /// To be called inside the context.
  ///
  /// - Parameter channel: A text of 1 to 200 bytes in UTF-8 without U+0000; for another text the save throws
  ///   ``ErrorCode/invalidValue``, until ``rollback()`` or ``reset()`` drops the channel.
  public final func signalOnSave(_ channel: String) {
    operating { _ = pendingSignals.insert(channel) }
  }

  /// Returns the channels that a save signals: those of ``signalOnSave(_:)``, and the channels that participants add.
  ///
  /// - Throws: ``ErrorCode/invalidValue`` for an invalid name of a channel.
  final func signals(addedTo others: Set<String>) throws(CoherenceError) -> Set<String> {
    let channels = pendingSignals.union(others)
    try PersistentStoreCoordinator.checkChannels(channels)
    return channels
  }
}
