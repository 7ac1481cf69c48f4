import Coherence
import Foundation

/// Makes the stores of the size table. Each run of an operation gets a new store.
final class SizeStores {
  let kind: SizeStoreKind
  private let scratch: Scratch
  private let server: PostgreSQLServer?

  /// - Parameter server: The server of PostgreSQL stores.
  /// - Throws: ``BenchError`` for a PostgreSQL store without a server.
  init(_ kind: SizeStoreKind, scratch: Scratch, server: PostgreSQLServer?) throws {
    guard kind != .postgresql || server != nil else { throw BenchError("--store postgresql needs --postgres URL.") }
    self.kind = kind
    self.scratch = scratch
    self.server = kind == .postgresql ? server : nil
  }

  /// Runs a block with the configuration of an empty store, which is removed afterwards.
  ///
  /// SQLite does not wait for the disk, because a fixed wait for each commit would hide the growth of the cost.
  func withConfiguration<T>(_ body: (StoreConfiguration) throws -> T) throws -> T {
    switch kind {
    case .memory:
      return try body(StoreConfiguration(type: .inMemory))
    case .sqlite:
      return try scratch.with { file in
        let options: [String: OptionValue] = [SQLiteOption.synchronous: "off"]
        return try body(StoreConfiguration(type: .sqlite, options: options, location: file))
      }
    case .postgresql:
      guard let server else { throw BenchError("--postgres takes a URL, postgresql://…") }
      return try server.withSchema { try body(.postgreSQL(at: server.url, schema: $0)) }
    }
  }

  /// Makes a server do its pending background work now, so that the work does not disturb the measurement.
  func finishBackgroundWork() throws { try server?.finishBackgroundWork() }
}
