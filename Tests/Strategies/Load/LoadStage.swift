import CoherenceCore
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import TestSupport

/// A container with tallies in its store, under load.
struct LoadStage: Sendable {
  let container: any PersistentContainer
  let tallies: [ManagedObjectID]
  private let directory = TemporaryDirectory()

  /// The number of saves of each writer: small unless the environment sets a larger number.
  static let savesPerWriter =
    ProcessInfo.processInfo.environment["COHERENCE_LOAD_SAVES"].flatMap { Int($0) } ?? 40
  /// Few records, so that the writers have conflicts.
  private static let tallyCount = 12

  init(_ strategy: StrategyKind, on backend: Backend) throws {
    let model = try ManagedObjectModel(name: "Load", entities: [Tally.entity, Ticket.entity])
    container = strategy.makeContainer(model: model, in: directory)
    try container.attachPersistentStore(for: Self.configuration(of: backend))
    let context = container.newBackgroundContext()
    tallies = try context.performAndWait {
      let objects = try (0..<Self.tallyCount).map { _ in try Tally(context: context) }
      try context.save()
      return objects.map(\.objectID)
    }
  }

  /// Without flushes to disk, which these tests do not check.
  private static func configuration(of backend: Backend) -> StoreConfiguration {
    var configuration = backend.newConfiguration()
    switch backend {
    case .inMemory: break
    case .sqlite: configuration.options[SQLiteOption.synchronous] = "off"
    case .postgreSQL:
      configuration.location?.append(
        queryItems: [URLQueryItem(name: "options", value: "-c synchronous_commit=off")])
    }
    return configuration
  }

  /// The records of the store, read without the tested contexts.
  func stored() throws -> LoadContent {
    let context = ManagedObjectContext(coordinator: container.persistentStoreCoordinator)
    return try context.performAndWait { try LoadContent(of: context) }
  }
}

/// The records that a context finds.
struct LoadContent: Sendable, Equatable {
  var tallies: [ManagedObjectID: [Int]]
  var tickets: Set<ManagedObjectID>

  /// Must be called in the context.
  init(of context: ManagedObjectContext) throws {
    let found = try context.fetch(FetchRequest(Tally.self))
    tallies = Dictionary(uniqueKeysWithValues: found.map { ($0.objectID, $0.values) })
    tickets = Set(try context.fetch(FetchRequest(Ticket.self)).map(\.objectID))
  }

  /// The sum of a column over all tallies.
  func sum(ofColumn column: Int) -> Int { tallies.values.reduce(0) { $0 + $1[column] } }
}
