/// The batches of one iteration of a stream. Its deinitialiser ends the stream, so that a loop that is left early releases
/// its connection.
@usableFromInline final class StreamBatches<Batch: Sendable>: Sendable {
  typealias Read = @Sendable (StreamedFetch) throws -> Batch?

  let reader: StreamReader
  private let read: Read

  init(_ reader: StreamReader, _ read: @escaping Read) {
    self.reader = reader
    self.read = read
  }

  deinit { reader.abandon() }

  /// Reads the next batch; `nil` at the end.
  @usableFromInline func next() async throws -> Batch? { try await reader.next(read) }
}
