// Snapshots of many records, read without objects.

extension ManagedObjectContext {
  /// Returns snapshots of the records that a request finds, in its order and range.
  ///
  /// The records and their values are those that ``fetch(_:)`` finds in the objects: unsaved changes count unless the
  /// request leaves them out, and unsaved records have temporary identifiers. No object is made or kept. The request's
  /// `relationshipsForPrefetching` and `returnsObjectsAsFaults` have no effect.
  ///
  /// ```swift
  /// let tracks = try context.snapshots(of: FetchRequest(Track.self).sort(\.title))
  /// ```
  /// A request for a parent entity finds the records of its subentities too; the snapshots have the properties of the
  /// given type. The result may be passed to any thread.
  ///
  /// Cost: one statement for each store. Where no unsaved change matters, a record costs little more than its values.
  ///
  /// - Parameter type: The snapshot type of the request's entity or of a parent entity.
  /// - Throws: As ``fetch(_:)``; ``ErrorCode/snapshotMismatch``, ``ErrorCode/unknownProperty`` or
  ///   ``ErrorCode/wrongType`` when the type does not fit the entity; ``ErrorCode/wrongType`` for a coded value that
  ///   cannot be decoded.
  @inlinable public final func snapshots<S: EntitySnapshot, R: ManagedObject>(
    of request: FetchRequest<R>, as type: S.Type
  ) throws -> [S] {
    // The loop over the records stays in the module of the snapshot type, so that the compiler specialises it.
    var result: [S] = []
    try readSnapshots(of: request, as: type) { values in result.append(S(reading: &values)) }
    return result
  }

  /// Returns snapshots of the records that a request finds, in its order and range: see `snapshots(of:as:)`.
  ///
  /// - Throws: As `snapshots(of:as:)`.
  @inlinable public final func snapshots<R: SnapshotProviding>(of request: FetchRequest<R>) throws -> [R.Snapshot] {
    try snapshots(of: request, as: R.Snapshot.self)
  }

  /// Calls a block with the values of each record that a request finds, in the layout of a snapshot type.
  @usableFromInline final func readSnapshots<S: EntitySnapshot, R: ManagedObject>(
    of request: FetchRequest<R>, as type: S.Type, _ body: (inout SnapshotReader) -> Void
  ) throws {
    try operating {
      let layout = try SnapshotLayout.of(type, in: try request.entity(in: try model()))
      let sink = SnapshotSink(layout)
      try sink.passing(to: body) { try read(request, into: sink) }
    }
  }
}

/// Passes the values of records to a block, one record at a time.
final class SnapshotSink: ValueSink {
  private let layout: SnapshotLayout
  private var body: (inout SnapshotReader) -> Void = { _ in }
  let slots: [Int]
  private(set) var count = 0

  init(_ layout: SnapshotLayout) {
    self.layout = layout
    slots = layout.slots
  }

  /// Has a block receive the records that a read passes to the sink.
  func passing<T>(to body: (inout SnapshotReader) -> Void, _ read: () throws -> T) rethrows -> T {
    try withoutActuallyEscaping(body) { body in
      self.body = body
      defer { self.body = { _ in } }
      return try read()
    }
  }

  func take(_ values: UnsafeMutablePointer<AttributeValue>) throws {
    count += 1
    var reader = SnapshotReader(values, layout)
    body(&reader)
    reader.finish()
    if let failure = reader.failures.first { throw failure.error }
  }
}
