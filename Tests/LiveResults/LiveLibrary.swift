import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport

/// The model of the tests of live results: tracks with an artist and tags.
enum LiveLibrary {
  static let model: ManagedObjectModel = {
    do {
      return try ManagedObjectModel(
        name: "LiveLibrary",
        entities: [
          Entity("Artist") {
            Attribute("name", .string)
            Attribute("rating", .int64)
            Attribute("notes", .string, optional: true)
            Relationship("tracks", toMany: "Track", inverse: "artist")
          },
          Entity("Track") {
            Attribute("title", .string)
            Attribute("genre", .string, optional: true)
            Attribute("length", .int64)
            Attribute("plays", .int64)
            Relationship("artist", toOne: "Artist", inverse: "tracks")
            Relationship("tags", toMany: "Tag", inverse: "tracks")
          },
          Entity("Bonus", parent: "Track") { Attribute("country", .string, optional: true) },
          Entity("Tag") {
            Attribute("name", .string)
            Relationship("tracks", toMany: "Track", inverse: "tags")
          },
        ])
    } catch {
      preconditionFailure("The model of the tests is not sound: \(error)")
    }
  }()

  /// A container with its own store.
  struct Stack {
    let directory = TemporaryDirectory()
    let container: any PersistentContainer
    let store: any PersistentStore
    let configuration: StoreConfiguration

    var view: ManagedObjectContext { container.viewContext }
    var coordinator: PersistentStoreCoordinator { container.persistentStoreCoordinator }

    init(_ strategy: LiveStrategy, on backend: Backend) throws {
      container = strategy.makeContainer(in: directory)
      configuration = backend.newConfiguration()
      store = try container.attachPersistentStore(for: configuration)
    }

    /// Changes records in a background context and saves.
    @discardableResult
    func write<T: Sendable>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
      try container.newBackgroundContext().saving(body)
    }

    /// Saves tracks with the titles, and returns them by title.
    @discardableResult
    func add(_ titles: String..., genre: String? = nil) throws -> [String: ManagedObjectID] {
      let objects = try write { context in
        try titles.map { try LiveLibrary.track($0, genre: genre, in: context).objectID }
      }
      let ids = try view.performAndWait { try view.fetchIDs(FetchRequest(entityName: "Track")) }
      _ = objects
      return try view.performAndWait {
        Dictionary(
          uniqueKeysWithValues: try view.objects(for: ids).map {
            (try $0.value(for: "title", as: String.self), $0.objectID)
          })
      }
    }
  }

  /// Inserts a track.
  @discardableResult
  static func track(
    _ title: String, genre: String? = nil, length: Int = 0, in context: ManagedObjectContext
  ) throws -> ManagedObject {
    let track = try context.insertNewObject(forEntityName: "Track")
    try track.setValue(title, for: "title")
    try track.setValue(genre, for: "genre")
    try track.setValue(length, for: "length")
    try track.setValue(0, for: "plays")
    return track
  }

  static var tracks: FetchRequest<ManagedObject> { FetchRequest(entityName: "Track") }
}

/// The framework's strategies, as values to test with.
enum LiveStrategy: String, Sendable, CaseIterable, CustomStringConvertible {
  case direct, directIndependent, indirectNested, mixed

  /// Makes a container of the library, with stores in a directory.
  func makeContainer(in directory: TemporaryDirectory) -> any PersistentContainer {
    switch self {
    case .direct: make(ContextStrategy.Direct.self, directory)
    case .directIndependent: make(ContextStrategy.DirectIndependent.self, directory)
    case .indirectNested: make(ContextStrategy.IndirectNested.self, directory)
    case .mixed: make(ContextStrategy.Mixed.self, directory)
    }
  }

  private func make<Strategy: ContextStrategyType>(
    _ strategy: Strategy.Type, _ directory: TemporaryDirectory
  ) -> any PersistentContainer {
    GenericPersistentContainer<Strategy>(
      name: "LiveResults", managedObjectModel: LiveLibrary.model, storeLocation: directory.url)
  }

  var description: String { rawValue }
}
