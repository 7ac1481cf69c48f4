import Coherence
import CoherenceModelMacros
import Foundation

/// A record of the tests' own model.
@Entity final class Note: ManagedObject {
  var text: String
}

/// A container in a temporary directory.
struct StackOf<Strategy: ContextStrategyType> {
  let container: GenericPersistentContainer<Strategy>
  private let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString, isDirectory: true)
    container = GenericPersistentContainer(
      name: "Notes", managedObjectModel: try ManagedObjectModel(Note.self), storeLocation: directory)
  }

  /// Detaches the stores and removes their files.
  func remove() {
    try? container.detach(persistentStores: container.persistentStoreCoordinator.persistentStores)
    try? FileManager.default.removeItem(at: directory)
  }
}

typealias Stack = StackOf<ContextStrategy.Mixed>
