// Streams of objects, in batches.

extension ManagedObjectContext {
  /// Returns a stream of the objects that a fetch of a request would find, in batches.
  ///
  /// As `stream(_:)`, which describes what a stream holds and how it ends, with objects in place of values. The loop
  /// runs on the context's actor: the main actor, or an actor whose executor is the context. The stream reads on threads
  /// of its own and never blocks the context for a store; the context makes the objects of a batch.
  ///
  /// A batch is released with the loop's reference to it. The context retains objects with unsaved changes until they are
  /// saved. Objects that the context has already are returned again, with their present values. Records that the context
  /// has marked for deletion since the stream began are left out. Relationships are read by the context, in the present
  /// state of the stores; `relationshipsForPrefetching` loads them for each batch, on the context's thread.
  ///
  /// - Parameters:
  ///   - batchSize: The number of objects of a batch; a number below 1 counts as 1. The last batch may have fewer.
  ///   - unreadLimit: The time after which an unread stream releases its connections and fails.
  public final func streamObjects<Object: ManagedObject>(
    _ request: FetchRequest<Object>, batchSize: Int = 512, unreadLimit: Duration = .seconds(60)
  ) -> ObjectStream<Object> {
    ObjectStream(context: self) { [self] in objectBatches(request, batchSize, unreadLimit) }
  }

  /// Calls a block with the objects that a fetch of a request would find, in batches, without blocking the caller.
  ///
  /// As ``streamObjects(_:batchSize:unreadLimit:)``. Each call of the block is a `perform` of its own: between two
  /// batches the context runs other work, and objects of one batch must not leave their block. The block may change and
  /// save objects: the stream continues in the state in which it began.
  ///
  /// ```swift
  /// try await context.forEachBatch(of: FetchRequest(Track.self), batchSize: 500) { tracks in
  ///   for track in tracks { track.title = track.title.uppercased() }
  ///   try context.save()
  /// }
  /// ```
  /// - Parameters:
  ///   - batchSize: The number of objects of a batch; a number below 1 counts as 1. The last batch may have fewer.
  ///   - unreadLimit: The time that a block may take before the stream releases its connections and fails.
  /// - Throws: The block's error, which ends the stream; the errors of `stream(_:)`.
  public final func forEachBatch<Object: ManagedObject>(
    of request: FetchRequest<Object>, batchSize: Int = 512, unreadLimit: Duration = .seconds(60),
    _ body: @escaping @Sendable ([Object]) throws -> Void
  ) async throws {
    let batches = objectBatches(request, batchSize, unreadLimit)
    while let records = try await batches.next() {
      try await perform { context in
        let objects = try context.objects(for: records, as: Object.self)
        if !objects.isEmpty { try body(objects) }
      }
    }
  }

  /// The records of a stream of objects, in batches.
  private final func objectBatches<Object: ManagedObject>(
    _ request: FetchRequest<Object>, _ batchSize: Int, _ unreadLimit: Duration
  ) -> StreamBatches<StreamedRecords> {
    let cutter = StreamedRecordCutter(size: max(1, batchSize))
    return StreamBatches(streamReader(request, unreadLimit: unreadLimit)) { try cutter.next(of: $0) }
  }

  /// The reader of a stream of a request.
  final func streamReader<Object: ManagedObject>(
    _ request: FetchRequest<Object>, unreadLimit: Duration
  ) -> StreamReader {
    StreamReader(in: self, subject: name(of: request), unreadLimit: unreadLimit) {
      try $0.executablePlan(request)
    }
  }
}
