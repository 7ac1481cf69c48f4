import CoherenceCore
import CoherencePostgreSQL
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import Logging

/// A store that the tool has opened with the entities of some parts alone.
///
/// The store is opened with a partial model: nothing in it changes by being opened, and its application finds its own
/// model as the last one.
struct OpenStore {
  typealias Container = GenericPersistentContainer<ContextStrategy.DirectIndependent>

  let container: Container
  /// The parts that the store has, of those that were asked for.
  let parts: [StorePart]

  var coordinator: PersistentStoreCoordinator { container.persistentStoreCoordinator }

  /// The identifier of a record of the store by its key.
  func objectID(of entityName: String, key: Int64) -> ManagedObjectID? {
    coordinator.persistentStores.first.flatMap { store in
      coordinator.managedObjectModel.entitiesByName[entityName].map {
        ManagedObjectID(space: store.spaces[$0], key: key)
      }
    }
  }

  /// Opens a store.
  ///
  /// - Parameters:
  ///   - parts: The parts to work with. The store must have one of them at least.
  ///   - writes: Whether records are changed.
  static func open(_ arguments: StoreArguments, _ parts: StorePart..., writes: Bool = false) throws -> OpenStore {
    let place = try arguments.place()
    let logger = Logger(label: "coherence") { _ in SwiftLogNoOpLogHandler() }
    let empty = try StorePart.emptyModel
    let environment = StoreEnvironment(
      type: place.type, url: place.url, model: empty, options: place.options, logger: logger)
    guard let metadata = try place.type.factory?.metadata(environment) else { throw UsageError(place.absence) }
    let present = try parts.filter { try $0.isPresent(in: metadata) }
    guard !present.isEmpty else { throw StorePart.absence(of: parts, in: place.name) }
    let container = Container(
      name: "coherence", managedObjectModel: try present.reduce(empty) { try $1.added(to: $0) },
      storeLocation: FileManager.default.temporaryDirectory, logger: logger)
    var options = place.options
    options[StoreOption.partialModel] = true
    if !writes, place.readsOnly { options[StoreOption.readOnly] = true }
    try container.attachPersistentStore(
      for: StoreConfiguration(type: place.type, options: options, location: place.url))
    return OpenStore(container: container, parts: present)
  }
}

/// The location of a store.
struct StorePlace {
  let type: StoreType
  let url: URL
  var options: [String: OptionValue] = [:]
  /// The place in sentences, without passwords.
  let name: String
  /// The sentence about a place without a store.
  let absence: String
  /// Whether a store that is only read is opened for reading alone. A reader of a SQLite file leaves its log behind, so
  /// that a writable file is opened to write.
  let readsOnly: Bool
}
