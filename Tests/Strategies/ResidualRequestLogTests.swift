import CoherenceCore
import Foundation
import Logging
import TestSupport
import Testing

/// The messages about requests that a store evaluates in part.
@Suite("Requests evaluated by the context") struct ResidualRequestLogTests {
  private static let model = Result { try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } } }

  /// A kind of request with a condition.
  enum Kind: String, CaseIterable {
    case fetch, identifiers, count, stream, batchUpdate, batchDelete, claim, aggregate

    /// Runs a request of the kind.
    func run(_ request: FetchRequest<ManagedObject>, in context: ManagedObjectContext) async throws {
      guard self != .stream else { return try await context.forEachBatch(of: request) { _ in } }
      try await context.perform { context in try runInside(request, context) }
    }

    private func runInside(_ request: FetchRequest<ManagedObject>, _ context: ManagedObjectContext) throws {
      switch self {
      case .fetch, .stream: _ = try context.fetch(request)
      case .identifiers: _ = try context.fetchIDs(request)
      case .count: _ = try context.count(for: request)
      case .batchUpdate:
        try context.execute(
          BatchUpdateRequest(entityName: "Thing", predicate: request.predicate, values: ["name": "changed"]))
      case .batchDelete:
        try context.execute(BatchDeleteRequest(entityName: "Thing", predicate: request.predicate))
      case .claim: try context.claim(request, limit: 3, set: ["name": "claimed"])
      case .aggregate:
        _ = try context.fetchDictionaries(AggregateRequest(request, propertiesToFetch: [.count]))
      }
    }
  }

  /// The messages about parts of requests since the log of a store was emptied.
  private static func messages(of stack: LoggedStore) -> [String] {
    stack.log.texts(.debug).filter { $0.hasPrefix("A store leaves a part of a request to the context") }
  }

  @Test(arguments: Backend.available, Kind.allCases)
  func `the log says which part of a request of any kind the store leaves to the context, without values`(
    backend: Backend, kind: Kind
  ) async throws {
    let stack = try LoggedStore(backend, Self.model.get())
    defer { stack.close() }
    let context = stack.context()
    var request = FetchRequest<ManagedObject>(entityName: "Thing")
    request.predicate = try FetchPredicate(format: "name == 'secret'")
    stack.log.removeAll()
    try await kind.run(request, in: context)
    #expect(Self.messages(of: stack).isEmpty)

    request.predicate = try FetchPredicate(format: "name MATCHES 'secret.*'")
    try await kind.run(request, in: context)
    let conditions = Self.messages(of: stack).filter { $0.contains("\"condition\": context") }
    #expect(conditions.count == (backend == .inMemory ? 0 : 1))
    #expect(Self.messages(of: stack).allSatisfy { $0.contains("Thing") && !$0.contains("secret") })
  }

  @Test(arguments: Backend.available)
  func `the log says that the context filters the groups of a request, without values`(backend: Backend) throws {
    let stack = try LoggedStore(backend, Self.model.get())
    defer { stack.close() }
    let context = stack.context()
    var request = AggregateRequest(
      FetchRequest<ManagedObject>(entityName: "Thing"), propertiesToGroupBy: ["name"],
      propertiesToFetch: ["name", .count])
    request.havingPredicate = try FetchPredicate(format: "name MATCHES 'secret.*'")
    stack.log.removeAll()
    _ = try context.performAndWait { try context.fetchDictionaries(request) }
    let message = try #require(Self.messages(of: stack).first)
    #expect(Self.messages(of: stack).count == 1)
    #expect(message.contains("\"groups\": store") && message.contains("\"having\": context"))
    #expect(message.contains("Thing") && !message.contains("secret"))
  }
}
