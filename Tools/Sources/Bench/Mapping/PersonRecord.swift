import Coherence
import CoherenceMapping
import Foundation

extension Person: CoreModel {
  var uid: Int64 { id }
}

/// The record of a person as a class, written as an application writes it.
final class PersonRecord: ManagedObject {
  static let idKey = AttributeKey<Int64>("id")
  static let uuidKey = AttributeKey<String>("uuid")
  static let firstNameKey = AttributeKey<String>("firstName")
  static let middleNameKey = AttributeKey<String>("middleName")
  static let lastNameKey = AttributeKey<String>("lastName")
  static let emailKey = AttributeKey<String>("email")
  static let ageKey = AttributeKey<Int>("age")
  static let scoreKey = AttributeKey<Double>("score")
  static let createdKey = AttributeKey<Date>("created")
  static let isActiveKey = AttributeKey<Bool>("isActive")
  static let notesKey = AttributeKey<String?>("notes")
}

extension PersonRecord: RecordFromModel, RecordToModel {
  typealias ModelType = Person
  static var entityName: String { "Person" }
  static var uidKey: String { "id" }
  var uid: Int64 { self[Self.idKey] }

  func fromModel(_ model: Person) {
    self[Self.idKey] = model.id
    self[Self.uuidKey] = model.uuid
    self[Self.firstNameKey] = model.firstName
    self[Self.middleNameKey] = model.middleName
    self[Self.lastNameKey] = model.lastName
    self[Self.emailKey] = model.email
    self[Self.ageKey] = model.age
    self[Self.scoreKey] = model.score
    self[Self.createdKey] = model.created
    self[Self.isActiveKey] = model.isActive
    self[Self.notesKey] = model.notes
  }

  func toModel() -> Person {
    Person(
      id: self[Self.idKey], uuid: self[Self.uuidKey], firstName: self[Self.firstNameKey],
      middleName: self[Self.middleNameKey], lastName: self[Self.lastNameKey], email: self[Self.emailKey],
      age: self[Self.ageKey], score: self[Self.scoreKey], created: self[Self.createdKey],
      isActive: self[Self.isActiveKey], notes: self[Self.notesKey])
  }
}
