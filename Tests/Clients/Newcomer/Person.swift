import Coherence
import CoherenceMapping

// a business object
public struct Person: Equatable {
  let personId: String
  let name: String

  public init(personId: String, name: String) {
    self.personId = personId
    self.name = name
  }
}

// a managed object
class PersonRecord: ManagedObject {
  static let idKey = AttributeKey<String?>("id")
  static let nameKey = AttributeKey<String?>("name")
  var id: String! {
    get { self[Self.idKey] }
    set { self[Self.idKey] = newValue }
  }
  var name: String! {
    get { self[Self.nameKey] }
    set { self[Self.nameKey] = newValue }
  }
}

extension Person: CoreModel {
  public typealias UidType = String
  public var uid: String { personId }
}

extension PersonRecord: CoreModel {
  typealias UidType = String
  public var uid: String { id ?? "" }
}

extension PersonRecord: DataRecord {
  static var entityName: String { "PersonRecord" }
  static var uidKey: String { "id" }
}

extension PersonRecord: ModelRepresentable {
  typealias ModelType = Person
}

extension PersonRecord: RecordFromModel {
  func fromModel(_ model: Person) {
    id = model.personId
    name = model.name
  }
}

extension PersonRecord: RecordToModel {
  func toModel() -> Person {
    Person(
      personId: id ?? "",
      name: name ?? ""
    )
  }
}

/// The model that a bundle had, registered by its name.
public func registerMyModel() throws {
  try ManagedObjectModel(name: "MyModel") {
    Entity("PersonRecord", class: PersonRecord.self) {
      Attribute("id", .string, optional: true)
      Attribute("name", .string, optional: true)
    }
  }.register()
}
