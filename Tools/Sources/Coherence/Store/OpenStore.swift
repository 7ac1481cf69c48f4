import CoherenceCore
import CoherencePostgreSQL
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import Logging

/// A store that the tool has opened with a model of some parts only.
///
/// `StoreOption.partialModel` keeps the tables and the stored model of the application unchanged.
struct OpenStore {
  typealias Container = GenericPersistentContainer<ContextStrategy.DirectIndependent>

  let container: Container
  /// The requested parts that the store has.
  let parts: [StorePart]

  var coordinator: PersistentStoreCoordinator { container.persistentStoreCoordinator }

  /// Returns the identifier of the record with a primary key; `nil` for an unknown entity.
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
  ///   - parts: The requested parts. The store must have at least one.
  ///   - writes: Whether the command changes records.
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
  /// The location as messages show it, without passwords.
  let name: String
  /// The error message for a location without a store.
  let absence: String
  /// Whether a command that changes nothing opens the store read-only. A read-only connection to a SQLite file cannot
  /// remove the file's log, so the tool opens a writable file for writing.
  let readsOnly: Bool
}
