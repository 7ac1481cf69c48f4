import Coherence
import CoherenceMapping
import Foundation

/// A persistence manager with a store of people as structures.
final class PersonStore {
  let manager: PersistenceManager

  convenience init(file: URL) throws {
    try self.init(.sqlite(at: file))
  }

  convenience init(url: String, schema: String) throws {
    try self.init(.postgreSQL(at: url, schema: schema))
  }

  init(_ configuration: StoreConfiguration) throws {
    manager = PersistenceManager(name: "Bench", model: try Self.model.get(), storeConfigurations: [configuration])
    try manager.load()
  }

  private static let model = Result {
    var entity = Person.mapping.entity
    entity.objectClass = PersonRecord.self
    return try ManagedObjectModel(entities: [entity])
  }

  func insert(_ people: [Person]) throws {
    try manager.save(Person.mapping, models: people, shouldOverwrite: false)
  }

  /// Reads all people, and returns their checksum.
  func readBack() throws -> UInt64 {
    let checksum = try manager.fetchModels(Person.mapping).checksum
    try close()
    return checksum
  }

  func close() throws {
    try manager.container.detach(persistentStores: manager.container.persistentStoreCoordinator.persistentStores)
  }
}

extension Person {
  static let mapping = mapping(alwaysDecodes: false)
  /// Decodes each person with the type's own decoder, as for a type whose decoding does more than to read its fields.
  static let decodedMapping = mapping(alwaysDecodes: true)

  private static func mapping(alwaysDecodes: Bool) -> Mapping<Person> {
    Mapping("Person", uid: \.id, alwaysDecodes: alwaysDecodes) {
      Field("id", \.id)
      Field("uuid", \.uuid)
      Field("firstName", \.firstName)
      Field("middleName", \.middleName)
      Field("lastName", \.lastName)
      Field("email", \.email)
      Field("age", \.age)
      Field("score", \.score)
      Field("created", \.created)
      Field("isActive", \.isActive)
      Field("notes", \.notes)
    }
  }
}
