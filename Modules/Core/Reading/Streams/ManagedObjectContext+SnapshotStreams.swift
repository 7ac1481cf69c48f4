// Streams of snapshots.

extension ManagedObjectContext {
  /// Returns a stream of snapshots of the records that a request finds, in its order and range: the values of millions of
  /// records in the memory of a few hundred.
  ///
  /// ```swift
  /// for try await track in context.stream(FetchRequest(Track.self).sort(\.title)) { try export(track) }
  /// ```
  /// The stream may be read in any task; its values are those that ``fetch(_:)`` would find. The whole stream shows the
  /// moment when its iteration began: one state of each store, with the unsaved changes that the context and its parents
  /// had then, unless the request leaves them out. Later changes and saves, by this context too, are not in it.
  /// Temporary identifiers in it find their objects after a save. `relationshipsForPrefetching` and
  /// `returnsObjectsAsFaults` have no effect.
  ///
  /// The stores are read on threads of the stream's own, a batch at a time, whenever the loop asks for more. The context is
  /// entered once at the beginning, without blocking the caller, and no object is made in it. A context that belongs to a
  /// thread refuses with ``ErrorCode/wrongContext``.
  ///
  /// ## What a stream holds
  ///
  /// While it runs, a stream has a reader of each store of the entity: one connection and one open transaction. Neither
  /// readers nor saves wait for it: in a PostgreSQL store a stream has a connection beside the pool. The end of the
  /// stream, an error, a cancellation of the task and an early exit from the loop release the readers. The detachment
  /// of a store releases them too; the next read throws ``ErrorCode/storeDetached`` then. A stream without a read for
  /// `unreadLimit` also releases its readers; the next read throws ``ErrorCode/streamExpired`` then.
  ///
  /// ## Cost
  ///
  /// One statement, and memory for two batches of some 1,000 records. The stream reads all records at its beginning and
  /// keeps them where no store can return them in order: for an order that the store cannot evaluate exactly, for an
  /// entity with records in several stores, and for predicates that lead to many unsaved changes of other records.
  /// ``explain(_:)`` reports the reason. Unsaved records are kept as well.
  ///
  /// - Parameters:
  ///   - type: The snapshot type of the request's entity or of a parent entity.
  ///   - unreadLimit: The time after which an unread stream releases its connections and fails.
  /// - Returns: A stream that throws, when it is read, the errors of `snapshots(of:as:)`; ``ErrorCode/cancelled``;
  ///   ``ErrorCode/streamExpired``; ``ErrorCode/storeDetached`` when the store was detached; ``ErrorCode/connectionLost``
  ///   when a link to a server breaks. A stream that fails has thrown: it never ends early without an error.
  @inlinable public final func stream<S: EntitySnapshot, R: ManagedObject>(
    _ request: FetchRequest<R>, as type: S.Type, unreadLimit: Duration = .seconds(60)
  ) -> RecordStream<S> {
    // The loop over the records stays in the module of the snapshot type, so that the compiler specialises it.
    snapshotStream(request, as: type, unreadLimit) { read in
      var batch: [S] = []
      batch.reserveCapacity(1024)
      try read { values in batch.append(S(reading: &values)) }
      return batch
    }
  }

  /// Returns a stream of snapshots of the records that a request finds: see `stream(_:as:unreadLimit:)`.
  @inlinable public final func stream<R: SnapshotProviding>(
    _ request: FetchRequest<R>, unreadLimit: Duration = .seconds(60)
  ) -> RecordStream<R.Snapshot> {
    stream(request, as: R.Snapshot.self, unreadLimit: unreadLimit)
  }

  /// Calls a block with each record of a batch.
  @usableFromInline typealias BatchRead = (_ body: (inout SnapshotReader) -> Void) throws -> Void

  /// Makes a stream of snapshots.
  ///
  /// - Parameter decode: Makes the snapshots of one batch.
  @usableFromInline final func snapshotStream<S: EntitySnapshot, R: ManagedObject>(
    _ request: FetchRequest<R>, as type: S.Type, _ unreadLimit: Duration,
    _ decode: @escaping @Sendable (_ read: BatchRead) throws -> [S]
  ) -> RecordStream<S> {
    RecordStream { [self] in
      let values = StreamedValues(S.self)
      return StreamBatches(streamReader(request, unreadLimit: unreadLimit)) { fetch in
        var isAtEnd = false
        let batch = try decode { body in isAtEnd = try !values.read(fetch, body) }
        return isAtEnd ? nil : batch
      }
    }
  }
}

/// The sink of a stream of snapshots, the same for all batches. Used in the context of the stream alone.
private final class StreamedValues<S: EntitySnapshot>: @unchecked Sendable {
  // Sendable: the confinement of the stream's context admits one thread at a time.
  private var sink: SnapshotSink?

  init(_ type: S.Type) {}

  /// Passes the next records to a block.
  ///
  /// - Returns: `false` at the end.
  func read(_ fetch: StreamedFetch, _ body: (inout SnapshotReader) -> Void) throws -> Bool {
    let sink = try sink ?? SnapshotSink(SnapshotLayout.of(S.self, in: fetch.plan.query.entity))
    self.sink = sink
    return try sink.passing(to: body) { try fetch.next(into: sink) }
  }
}
