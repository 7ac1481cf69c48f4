import Coherence
import Foundation

/// A record of the tests' own model.
final class Note: ManagedObject {
  static let textKey = AttributeKey<String>("text")

  var text: String {
    get { self[Self.textKey] }
    set { self[Self.textKey] = newValue }
  }

  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel { Entity("Note", class: Note.self) { Attribute("text", .string) } }
  }
}

/// A container in a directory of its own.
struct StackOf<Strategy: ContextStrategyType> {
  let container: GenericPersistentContainer<Strategy>
  private let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString, isDirectory: true)
    container = GenericPersistentContainer(
      name: "Notes", managedObjectModel: try Note.model(), storeLocation: directory)
  }

  /// Detaches the stores and removes their files.
  func remove() {
    try? container.detach(persistentStores: container.persistentStoreCoordinator.persistentStores)
    try? FileManager.default.removeItem(at: directory)
  }
}

typealias Stack = StackOf<ContextStrategy.Mixed>
