import CoherenceCore
import Foundation
import Logging

/// What is to be done before a store is opened.
struct StorePreparation {
  let factory: any StoreFactory
  let logger: Logger
  let environment: StoreEnvironment

  /// Moves a store away that the model does not fit, or that cannot be read at all. Its content is kept.
  func setAsideIncompatibleStore() throws {
    guard try isIncompatible() else { return }
    let place = try factory.setAside(environment)
    logger.warning("Moved an incompatible store aside.", metadata: ["place": "\(place)"])
  }

  private func isIncompatible() throws -> Bool {
    do {
      guard let metadata = try factory.metadata(environment) else { return false }
      // What a store made now would say: whole hierarchies, even when a configuration names a part of one.
      let hashes = environment.freshMetadata(identifier: metadata.identifier).versionHashes
      // A model that the store knows fits it, though a program with another model may have opened it last.
      return metadata.age(ofModelWith: hashes) == .unseen
    } catch ErrorCode.notADatabase, ErrorCode.storeCorrupt {
      return true
    }
  }

  /// Makes the directory of a store that is a file.
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
