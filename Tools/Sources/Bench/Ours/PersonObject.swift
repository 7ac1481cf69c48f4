import Coherence
import Foundation

/// The record as a managed object, written as an application writes it.
final class PersonObject: ManagedObject, PersonFields {
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

  var uuid: String {
    get { self[Self.uuidKey] }
    set { self[Self.uuidKey] = newValue }
  }
  var firstName: String {
    get { self[Self.firstNameKey] }
    set { self[Self.firstNameKey] = newValue }
  }
  var middleName: String {
    get { self[Self.middleNameKey] }
    set { self[Self.middleNameKey] = newValue }
  }
  var lastName: String {
    get { self[Self.lastNameKey] }
    set { self[Self.lastNameKey] = newValue }
  }
  var email: String {
    get { self[Self.emailKey] }
    set { self[Self.emailKey] = newValue }
  }
  var age: Int {
    get { self[Self.ageKey] }
    set { self[Self.ageKey] = newValue }
  }
  var score: Double {
    get { self[Self.scoreKey] }
    set { self[Self.scoreKey] = newValue }
  }
  var created: Date {
    get { self[Self.createdKey] }
    set { self[Self.createdKey] = newValue }
  }
  var isActive: Bool {
    get { self[Self.isActiveKey] }
    set { self[Self.isActiveKey] = newValue }
  }
  var notes: String? {
    get { self[Self.notesKey] }
    set { self[Self.notesKey] = newValue }
  }

  /// Sets the values of a record.
  func assign(_ person: Person) {
    uuid = person.uuid
    firstName = person.firstName
    middleName = person.middleName
    lastName = person.lastName
    email = person.email
    age = person.age
    score = person.score
    created = person.created
    isActive = person.isActive
    notes = person.notes
  }

  static let entityDeclaration = Entity("Person", class: PersonObject.self) {
    for attribute in attributes { attribute }
  }

  static let attributes = [
    Attribute("uuid", .string),
    Attribute("firstName", .string),
    Attribute("middleName", .string),
    Attribute("lastName", .string),
    Attribute("email", .string),
    Attribute("age", .int64),
    Attribute("score", .double),
    Attribute("created", .date),
    Attribute("isActive", .bool),
    Attribute("notes", .string, optional: true),
  ]
}
