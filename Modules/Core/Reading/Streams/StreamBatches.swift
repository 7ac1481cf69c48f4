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

  /// Ends the stream with the error of a caller that could not use a batch. Otherwise the next batch would follow, and
  /// the lost one would be missed silently.
  func fail(_ error: any Error) async { await reader.fail(error) }

  /// Reads the next batch; `nil` at the end.
  @usableFromInline func next() async throws -> Batch? { try await reader.next(read) }
}
