import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import Logging
import TestSupport

/// A started Connect with one store of albums, artists and genres.
struct MergeStack {
  let directory = TemporaryDirectory()
  let connect: TestConnect
  let configuration: StoreConfiguration
  let store: any PersistentStore

  /// - Parameter allowsDuplicateKeys: Whether the store lacks the constraints of keys, like stores of earlier versions of the
  ///   framework.
  init(
    _ backend: Backend, _ model: ManagedObjectModel? = nil, allowsDuplicateKeys: Bool = false, logger: Logger? = nil
  ) throws {
    connect = TestConnect(
      name: "Merge", managedObjectModel: try model ?? Self.library(), storeLocation: directory.url, logger: logger)
    var configuration = backend.newConfiguration()
    configuration.options[StoreOption.allowsDuplicateKeys] = .bool(allowsDuplicateKeys)
    self.configuration = configuration
    store = try connect.attachPersistentStore(for: configuration)
    try connect.start()
  }

  /// Artists with ordered albums, and genres of albums. The key of an album has two attributes.
  static func library() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Artist", class: MergedArtist.self, userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int32, optional: true)
        Attribute("name", .string, default: "unknown")
        Attribute("note", .string, optional: true)
        Attribute("portrait", .data, optional: true)
        Attribute("born", .date, optional: true)
        Attribute("wealth", .decimal, optional: true)
        Attribute("height", .double, optional: true)
        Attribute("isActive", .bool, optional: true)
        Attribute("token", .uuid, optional: true)
        Attribute("revision", .int64, default: 0)
        Relationship("mentor", toOne: "Artist", inverse: "pupils")
        Relationship("pupils", toMany: "Artist", inverse: "mentor")
        Relationship("albums", toMany: "Album", inverse: "artist", ordered: true)
      }
      Entity("Album", userInfo: ["uniquenessAttributes": "label,number"]) {
        Attribute("label", .string)
        Attribute("number", .int64)
        Attribute("title", .string, optional: true)
        Relationship("artist", toOne: "Artist", inverse: "albums")
        Relationship("genres", toMany: "Genre", inverse: "albums")
      }
      Entity("Genre", uniqueness: [["name"]]) {
        Attribute("name", .string)
        Attribute("rank", .int64, default: 0)
        Relationship("albums", toMany: "Album", inverse: "genres")
      }
    }
  }

  func entity(_ name: String) throws -> EntityDescription { try connect.managedObjectModel.entity(named: name) }

  /// Merges records. Without options, records outside the input are deleted.
  @discardableResult
  func merge(
    _ records: [MergeRecord], into name: String, ignoring ignored: [String] = [], within filter: FetchPredicate? = nil,
    if condition: FetchPredicate = .constant(true), options: MergeOptions = .replaceAll
  ) throws -> MergeResult {
    try connect.newActionContext().merge(
      records: records, for: try entity(name), ignoreAttributes: ignored, subsetFilter: filter, condition: condition,
      options: options)
  }

  /// Runs a block in a new context.
  func read<T>(_ body: (BackgroundContext) throws -> T) throws -> T {
    let context = connect.newBackgroundContext()
    return try context.performAndWait { try body(context) }
  }

  func objects(_ name: String, _ context: ManagedObjectContext) throws -> [ManagedObject] {
    try context.fetch(FetchRequest<ManagedObject>(entityName: name))
  }

  /// The values of an attribute of all records, by the values of another attribute.
  func values<Key: AttributeConvertible & Hashable, Value: AttributeConvertible>(
    of name: String, _ value: String, by key: String, as types: (Key, Value).Type = (Key, Value).self
  ) throws -> [Key: Value] {
    try read { context in
      Dictionary(
        try objects(name, context).map {
          (try $0.value(for: key, as: Key.self), try $0.value(for: value, as: Value.self))
        },
        uniquingKeysWith: { first, _ in first })
    }
  }

  /// The names of artists by identifier.
  func names() throws -> [Int32: String] { try values(of: "Artist", "name", by: "id") }

  /// The versions of all records of an entity, by identifier.
  func versions(of name: String) throws -> [ManagedObjectID: Int64] {
    try read { context in
      Dictionary(try objects(name, context).map { ($0.objectID, $0.version) }, uniquingKeysWith: { first, _ in first })
    }
  }
}

/// An artist whose class counts its objects.
final class MergedArtist: ManagedObject {
  @TaskLocal static var counter: ObjectCounter?

  required init(_ birth: borrowing ObjectBirth) {
    Self.counter?.add()
    super.init(birth)
  }
}
