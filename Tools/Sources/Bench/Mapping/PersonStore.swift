import Coherence
import CoherenceMapping
import CoherencePostgreSQL
import Foundation

/// A store of people, who are structures, under a persistence manager that is loaded.
final class PersonStore {
  let manager: PersistenceManager

  convenience init(file: URL) throws {
    try self.init(
      StoreConfiguration(type: .sqlite, options: [SQLiteOption.synchronous: .string("full")], location: file))
  }

  convenience init(url: String, schema: String) throws {
    guard let location = URL(string: url) else { throw BenchError("--postgres takes a URL, postgresql://…") }
    try self.init(
      StoreConfiguration(type: .postgreSQL, options: [PostgreSQLOption.schema: .string(schema)], location: location))
  }

  private init(_ configuration: StoreConfiguration) throws {
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

  /// What is read anew: the checksum of everything.
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
  static let mapping = Mapping<Person>("Person", uid: \.id) {
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

/// People by their own decoding, one by one: the only way for a type that decodes more than its fields.
struct DecodedPerson: Codable, PersonFields {
  var person: Person
  /// Which no field holds, so that no memory is filled without asking.
  var isDecoded = true

  init(from decoder: any Decoder) throws { person = try Person(from: decoder) }
  func encode(to encoder: any Encoder) throws { try person.encode(to: encoder) }

  var id: Int64 { person.id }
  var uuid: String { person.uuid }
  var firstName: String { person.firstName }
  var middleName: String { person.middleName }
  var lastName: String { person.lastName }
  var email: String { person.email }
  var age: Int { person.age }
  var score: Double { person.score }
  var created: Date { person.created }
  var isActive: Bool { person.isActive }
  var notes: String? { person.notes }

  static let mapping = Mapping<DecodedPerson>("Person", uid: \.id) {
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
