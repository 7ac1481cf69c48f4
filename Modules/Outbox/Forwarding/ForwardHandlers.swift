public import CoherenceCore
public import Foundation

/// The handlers that send the edits of an entity to a server; see ``Outbox/forward(_:_:)-(Object.Type,_)``.
///
/// A handler is called on no particular thread, and for several records at once. An outbox calls a handler again for
/// the same edit, with the same ``ForwardRequest/idempotencyKey``, after an error, after a crash, and after the loss of
/// the server's reply. A server that skips requests with repeated keys applies each edit exactly once.
public struct ForwardHandlers<Object: ManagedObject>: Sendable {
  /// Sends an edit, and returns the decision of the server. A thrown error asks for another attempt.
  public typealias Handler = @Sendable (_ request: ForwardRequest<Object>) async throws -> ForwardAnswer

  /// Sends several edits, and returns the server's decisions by idempotency key. An edit without a decision is sent
  /// again. A thrown error asks for another attempt of all edits.
  public typealias BatchHandler = @Sendable (_ requests: [ForwardRequest<Object>]) async throws -> [UUID: ForwardAnswer]

  var route = ForwardRoute()

  /// Registers the handler of inserted records.
  public mutating func insert(_ handler: @escaping Handler) { set(.insert, handler) }

  /// Registers the handler of updated records.
  public mutating func update(_ handler: @escaping Handler) { set(.update, handler) }

  /// Registers the handler of deleted records.
  public mutating func delete(_ handler: @escaping Handler) { set(.delete, handler) }

  /// Registers a handler that sends several edits of any kind in one call. It takes precedence over the handlers of
  /// single edits.
  ///
  /// The edits of one call concern different records, and none refers to the unsent insert of another.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of edits in a call; at least one.
  ///   - handler: Sends the edits.
  public mutating func batch(limit: Int = 100, _ handler: @escaping BatchHandler) {
    route.batchLimit = max(1, limit)
    route.batch = { contents in try await handler(contents.map { ForwardRequest(content: $0) }) }
  }

  private mutating func set(_ kind: OutboxEntry.Kind, _ handler: @escaping Handler) {
    route.handlers[kind] = { content in try await handler(ForwardRequest(content: content)) }
  }
}
