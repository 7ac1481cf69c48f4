import Coherence
import Foundation

/// The record as a snapshot, with the text that `@Entity` writes.
struct PersonSnapshot: EntitySnapshot, PersonFields {
  typealias Object = PersonObject
  var objectID: ManagedObjectID?
  var uuid: String
  var firstName: String
  var middleName: String
  var lastName: String
  var email: String
  var age: Int
  var score: Double
  var created: Date
  var isActive: Bool
  var notes: String?

  static var fields: [SnapshotField] {
    [
      SnapshotField(PersonObject.uuidKey), SnapshotField(PersonObject.firstNameKey),
      SnapshotField(PersonObject.middleNameKey), SnapshotField(PersonObject.lastNameKey),
      SnapshotField(PersonObject.emailKey), SnapshotField(PersonObject.ageKey), SnapshotField(PersonObject.scoreKey),
      SnapshotField(PersonObject.createdKey), SnapshotField(PersonObject.isActiveKey),
      SnapshotField(PersonObject.notesKey),
    ]
  }

  init(reading values: inout SnapshotReader) {
    objectID = values.objectID
    uuid = values.read()
    firstName = values.read()
    middleName = values.read()
    lastName = values.read()
    email = values.read()
    age = values.read()
    score = values.read()
    created = values.read()
    isActive = values.read()
    notes = values.read()
  }

  func write(to values: inout SnapshotWriter) {
    values.write(uuid)
    values.write(firstName)
    values.write(middleName)
    values.write(lastName)
    values.write(email)
    values.write(age)
    values.write(score)
    values.write(created)
    values.write(isActive)
    values.write(notes)
  }
}
