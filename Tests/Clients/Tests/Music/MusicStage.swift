import Coherence
import CoherencePostgreSQL
import Foundation

@testable import MusicClient

/// A library in a store of its own, which ends with the stage.
final class MusicStage: Sendable {
  /// A kind of store.
  enum Store: String, Sendable, CaseIterable {
    case inMemory, sqlite, postgreSQL

    static let database = ProcessInfo.processInfo.environment["COHERENCE_POSTGRESQL_URL"].flatMap(URL.init(string:))
    static let available = allCases.filter { $0 != .postgreSQL || database != nil }
  }

  let collection: MusicCollection
  let container: Music.Container
  let counts = OperationCounts()
  private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("music-\(UUID().uuidString)")
  private let schema = "music_" + UUID().uuidString.filter(\.isHexDigit).lowercased()

  init(on store: Store, artistCount: Int = 40) async throws {
    collection = MusicCollection(artistCount: artistCount)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    container = try Music.open(Self.configuration(store, schema), in: directory)
    try await container.performBackgroundTask { [collection] in try collection.insert(into: $0) }
    container.persistentStoreCoordinator.observer = counts
  }

  deinit {
    let coordinator = container.persistentStoreCoordinator
    let isInDatabase = coordinator.persistentStores.contains { $0.type == .postgreSQL }
    try? container.detach(persistentStores: coordinator.persistentStores)
    if isInDatabase {
      let environment = coordinator.environment(
        type: .postgreSQL, configurationName: nil, at: Store.database,
        options: [PostgreSQLOption.schema: .string(schema)])
      try? PostgreSQLStoreFactory().erase(environment)
    }
    try? FileManager.default.removeItem(at: directory)
  }

  private static func configuration(_ store: Store, _ schema: String) -> StoreConfiguration {
    switch store {
    case .inMemory: StoreConfiguration(type: .inMemory)
    case .sqlite: StoreConfiguration(type: .sqlite)
    case .postgreSQL:
      StoreConfiguration(
        type: .postgreSQL, options: [PostgreSQLOption.schema: .string(schema), PostgreSQLOption.poolSize: .int(2)],
        location: Store.database)
    }
  }

  /// Runs a block in a new context, and counts the stack's operations during the block.
  func count<T: Sendable>(
    _ block: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> (result: T, operations: [StackOperation.Kind: Int]) {
    counts.reset()
    let result = try await container.performBackgroundTask { try block($0) }
    return (result, counts.byKind)
  }
}
