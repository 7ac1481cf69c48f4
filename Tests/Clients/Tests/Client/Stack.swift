import Coherence
import Foundation

/// A record of the tests' own model.
final class Note: ManagedObject {
  static let textKey = AttributeKey<String>("text")

  var text: String {
    get { self[Self.textKey] }
    set { self[Self.textKey] = newValue }
  }
}

/// A container in a directory of its own.
struct StackOf<Strategy: ContextStrategyType> {
  let container: GenericPersistentContainer<Strategy>
  private let directory: URL

  init() throws {
    let model = try ManagedObjectModel { Entity("Note", class: Note.self) { Attribute("text", .string) } }
    directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString, isDirectory: true)
    container = GenericPersistentContainer(name: "Notes", managedObjectModel: model, storeLocation: directory)
  }

  /// Detaches the stores and removes what they kept.
  func remove() {
    try? container.detach(persistentStores: container.persistentStoreCoordinator.persistentStores)
    try? FileManager.default.removeItem(at: directory)
  }
}

typealias Stack = StackOf<ContextStrategy.Mixed>
