import CoherenceCore
import CoherenceSQLite
import Foundation

/// A directory for the files of one test, removed with the value's owner.
final class TemporaryStore {
  let directory: URL
  var url: URL { directory.appendingPathComponent("test.sqlite") }
  var path: String { url.path(percentEncoded: false) }

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("coherence-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  func environment(
    _ model: ManagedObjectModel, configuration: String? = nil, options: [String: OptionValue] = [:]
  ) -> StoreEnvironment {
    StoreEnvironment(type: .sqlite, url: url, configurationName: configuration, model: model, options: options)
  }

  func open(_ model: ManagedObjectModel, options: [String: OptionValue] = [:]) throws -> any PersistentStore {
    try SQLiteStoreFactory().open(environment(model, options: options))
  }
}
