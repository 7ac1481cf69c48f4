import CoherenceCore
import Foundation
import Logging

/// The work at the location of a store before the store is opened.
struct StorePreparation {
  let factory: any StoreFactory
  let logger: Logger
  let environment: StoreEnvironment

  /// Moves a store aside if no program has opened the store with the model, or if the location has a damaged store or
  /// content of another kind. The content is kept. For an inaccessible store the error is thrown instead.
  func setAsideIncompatibleStore() throws {
    guard try isIncompatible() else { return }
    let location = try factory.setAside(environment)
    logger.warning("Moved an incompatible store aside.", metadata: ["location": "\(location)"])
  }

  private func isIncompatible() throws -> Bool {
    do {
      guard let metadata = try factory.metadata(environment) else { return false }
      // The hashes of a new store. They cover whole hierarchies, even when a configuration names a part of one.
      let hashes = environment.freshMetadata(identifier: metadata.identifier).versionHashes
      // A known model fits, even if a program with another model has opened the store last.
      return metadata.age(ofModelWith: hashes) == .unseen
    } catch ErrorCode.notADatabase, ErrorCode.storeCorrupt {
      return true
    }
  }

  /// Creates the directory of a store with files.
  func makeDirectory() throws {
    guard factory.usesFiles, let directory = environment.url?.deletingLastPathComponent(), directory.isFileURL else {
      return
    }
    do {
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    } catch {
      throw CoherenceError(
        .storeInaccessible,
        "The directory '\(directory.path)' cannot be made; check its parent's rights, or attach the store elsewhere.",
        underlying: error)
    }
  }
}
