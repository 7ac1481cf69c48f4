import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport

/// A counter with a unique name.
final class Counter: ManagedObject {
  static let nameKey = AttributeKey<String>("name")
  static let countKey = AttributeKey<Int64>("count")

  var name: String {
    get { self[Self.nameKey] }
    set { self[Self.nameKey] = newValue }
  }
  var count: Int64 {
    get { self[Self.countKey] }
    set { self[Self.countKey] = newValue }
  }
}

/// A container of counters with its own store.
struct CounterStack {
  let container: GenericPersistentContainer<ContextStrategy.Mixed>
  private let directory = TemporaryDirectory()

  /// - Parameter type: The type of the store, in place of the backend's.
  init(on backend: Backend, type: StoreType? = nil) throws {
    let model = try ManagedObjectModel {
      Entity("Counter", class: Counter.self, uniqueness: [["name"]]) {
        Attribute("name", .string, validation: [.minimumLength(1)])
        Attribute("count", .int64, default: 0)
      }
    }
    container = GenericPersistentContainer(
      name: "Counters", managedObjectModel: model, storeLocation: directory.url)
    var configuration = backend.newConfiguration()
    if let type { configuration.type = type }
    try container.attachPersistentStore(for: configuration)
  }

  /// Saves a counter, in a context of its own.
  @discardableResult
  func add(_ name: String) throws -> ManagedObjectID {
    try inContext { context in
      let counter = try Counter(context: context)
      counter.name = name
      try context.save()
      return counter.objectID
    }
  }

  /// Adds one to a counter, in a context of its own.
  func increment(_ id: ManagedObjectID) throws {
    try inContext { context in
      try context.counter(id).count += 1
      try context.save()
    }
  }

  /// The saved count of a counter.
  func count(_ id: ManagedObjectID) throws -> Int64 { try inContext { try $0.counter(id).count } }

  private func inContext<T>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
    let context = ManagedObjectContext(coordinator: container.persistentStoreCoordinator)
    return try context.performAndWait { try body(context) }
  }
}

extension ManagedObjectContext {
  /// The counter of an identifier, loaded.
  func counter(_ id: ManagedObjectID) throws -> Counter {
    guard let counter = try existingObject(with: id) as? Counter else {
      throw CoherenceError(.wrongType, "The object is no counter.")
    }
    return counter
  }

  /// The counters with a name.
  func counters(named name: String) throws -> [Counter] {
    try fetch(
      FetchRequest<Counter>(entityName: "Counter")
        .filter(.comparison(.path(PropertyPath("name")), .equal, .value(.string(name)))))
  }
}
