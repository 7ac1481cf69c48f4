extension PersistentStoreCoordinator {
  /// Signals a channel of stores. Each stream of the channel, of every coordinator and process with one of the stores,
  /// gets an element.
  ///
  /// ``ManagedObjectContext/signalOnSave(_:)`` signals with a save, and costs less: a signal alone is a small write
  /// transaction in a SQLite file, and a round trip to a PostgreSQL server. May be called on any thread.
  ///
  /// - Parameters:
  ///   - channel: A text of 1 to 200 bytes in UTF-8.
  ///   - store: The store to signal; `nil` for all attached writable stores.
  /// - Throws: ``ErrorCode/invalidValue`` for an empty or longer channel and for a text with a null character;
  ///   ``ErrorCode/storeReadOnly``; errors of the store.
  public final func signal(_ channel: String, in store: (any PersistentStore)? = nil) throws {
    try Self.checkChannels([channel])
    let stores = store.map { [$0] } ?? persistentStores.filter { !$0.environment.isReadOnly }
    for store in stores { try store.send(channel) }
  }

  /// Returns a stream of the signals of a channel, from all stores attached now or later.
  ///
  /// ```swift
  /// for await _ in coordinator.signals("jobs") {
  ///   try await workOffJobs()
  /// }
  /// ```
  ///
  /// An element asks the reader to look at the store. The stream delivers its first element when it listens: at once,
  /// or when the store has reached its server. So the loop looks once before it waits, and misses nothing. Unread
  /// signals are combined into one element. A stream also delivers an element after a reconnection to a server, and
  /// after each commit of another process to a SQLite file.
  ///
  /// A stream is for one reader. It ends with its task, or with the coordinator. Without streams, no store listens or
  /// polls. While a stream is in use, a PostgreSQL store has one connection more than its pool, and a SQLite store
  /// looks for commits of other processes ten times a second.
  ///
  /// May be called on any thread, and reads no store. A stream of an invalid channel never delivers a signal.
  public final func signals(_ channel: String) -> AsyncStream<Void> {
    signalStreams.makeStream(of: channel) { persistentStores }
  }

  /// Checks the names of channels.
  ///
  /// - Throws: ``ErrorCode/invalidValue`` for an invalid name.
  static func checkChannels(_ channels: Set<String>) throws(CoherenceError) {
    let isWrong = channels.contains { !(1...200).contains($0.utf8.count) || $0.utf8.contains(0) }
    guard isWrong else { return }
    throw CoherenceError(
      .invalidValue,
      "The name of a channel of signals is empty, longer than 200 bytes, or has a null character; shorten or correct it."
    )
  }
}
