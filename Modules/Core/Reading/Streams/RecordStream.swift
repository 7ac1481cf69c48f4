/// The values of the records that a request finds, as a sequence that reads them while the loop runs.
///
/// ```swift
/// for try await track in context.stream(FetchRequest(Track.self).sort(\.title)) { try export(track) }
/// ```
/// Made by `ManagedObjectContext.stream(_:)`, which describes the guarantees. Nothing is read before an iteration begins,
/// and each iteration reads the records anew. The stream and its values may be passed to any thread; an iterator is
/// used by one task at a time.
public struct RecordStream<Element: Sendable>: AsyncSequence, Sendable {
  public typealias Failure = any Error

  private let makeBatches: @Sendable () -> StreamBatches<[Element]>

  init(_ makeBatches: @escaping @Sendable () -> StreamBatches<[Element]>) { self.makeBatches = makeBatches }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(makeBatches()) }

  /// One iteration of the stream. Releases the connections to the stores at the end, after an error, and when it is
  /// released itself.
  public struct AsyncIterator: AsyncIteratorProtocol {
    @usableFromInline let batches: StreamBatches<[Element]>
    /// The values read last, and the index of the next one.
    @usableFromInline var batch: [Element] = []
    @usableFromInline var index = 0

    init(_ batches: StreamBatches<[Element]>) { self.batches = batches }

    /// Returns the values of the next record; `nil` at the end.
    ///
    /// - Throws: As described at `ManagedObjectContext.stream(_:)`.
    @inlinable public mutating func next() async throws -> Element? { try await next(isolation: nil) }

    /// Returns the values of the next record; `nil` at the end.
    ///
    /// - Throws: As described at `ManagedObjectContext.stream(_:)`.
    @inlinable public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
      while true {
        if index < batch.count, !Task.isCancelled {
          defer { index += 1 }
          return batch[index]
        }
        batch = []
        index = 0
        guard let next = try await batches.next() else { return nil }
        batch = next
      }
    }
  }
}
