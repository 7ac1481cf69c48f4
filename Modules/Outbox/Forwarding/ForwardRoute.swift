import Foundation

/// The handlers of one entity, without the type of its objects.
struct ForwardRoute: Sendable {
  typealias Handler = @Sendable (ForwardContent) async throws -> ForwardAnswer
  typealias BatchHandler = @Sendable ([ForwardContent]) async throws -> [UUID: ForwardAnswer]

  var handlers: [OutboxEntry.Kind: Handler] = [:]
  var batch: BatchHandler?
  var batchLimit = 1
}
