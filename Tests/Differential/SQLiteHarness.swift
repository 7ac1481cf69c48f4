import CoherenceConformance
import CoherenceCore
import CoherenceSQLite
import Foundation

/// SQLite stores in files without durability, because no case compares it.
struct SQLiteHarness: StoreHarness {
  let name = "SQLite"
  func makeLocation() throws -> any StoreLocation { try SQLiteLocation() }
}

private final class SQLiteLocation: StoreLocation {
  let type = StoreType.sqlite
  let url: URL?
  let options: [String: OptionValue] = [SQLiteOption.synchronous: "off"]
  private let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("differential-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    url = directory.appendingPathComponent("store.sqlite")
  }

  func destroy() throws { try FileManager.default.removeItem(at: directory) }
}
