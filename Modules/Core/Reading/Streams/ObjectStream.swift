/// The objects of the records that a request finds, in batches, as a sequence that reads them while the loop runs.
///
/// ```swift
/// for try await albums in context.streamObjects(FetchRequest(Album.self), batchSize: 200) { show(albums) }
/// ```
/// Made by ``ManagedObjectContext/streamObjects(_:batchSize:unreadLimit:)``. The loop runs where the context may be used:
/// on the main actor for a main-queue context, or on an actor whose executor is the context. Elsewhere the iteration
/// throws ``ErrorCode/wrongContext``; ``ManagedObjectContext/forEachBatch(of:batchSize:unreadLimit:_:)`` enters the
/// context by itself.
public struct ObjectStream<Object: ManagedObject>: AsyncSequence, Sendable {
  public typealias Element = [Object]
  public typealias Failure = any Error

  let context: ManagedObjectContext
  let makeBatches: @Sendable () -> StreamBatches<StreamedRecords>

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(context: context, batches: makeBatches()) }

  /// One iteration of the stream. Releases the connections to the stores at the end, after an error, and when it is
  /// released itself.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let context: ManagedObjectContext
    let batches: StreamBatches<StreamedRecords>

    /// Throws ``ErrorCode/wrongContext``, because the caller is on no actor.
    public mutating func next() async throws -> [Object]? { try await next(isolation: nil) }

    /// Returns the next objects; `nil` at the end.
    ///
    /// - Throws: As described at ``ManagedObjectContext/streamObjects(_:batchSize:unreadLimit:)``.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> [Object]? {
      guard context.mayBeUsedHere else { throw context.streamedElsewhere }
      while let records = try await batches.next() {
        do {
          let objects = try context.objects(for: records, as: Object.self)
          if !objects.isEmpty { return objects }
        } catch {
          await batches.fail(error)
          throw error
        }
      }
      return nil
    }
  }
}

extension ManagedObjectContext {
  /// Whether the calling thread may use the context now.
  fileprivate final var mayBeUsedHere: Bool { storage.confinement.isInside }

  /// The error for an iteration outside of the context.
  fileprivate final var streamedElsewhere: CoherenceError {
    CoherenceError(
      .wrongContext,
      "The objects of the \(label) were streamed on an actor that cannot use the context; stream them on the context's "
        + "actor, or use `forEachBatch`.")
  }
}
