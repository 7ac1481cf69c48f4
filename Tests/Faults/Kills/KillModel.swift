import CoherenceCore
import CoherenceOutbox
import CoherencePersistedActions

/// The records of the clients: folders with notes, whose changes an outbox forwards, and the effects of actions.
enum KillModel {
  static let folder = "KillFolder"
  static let note = "KillNote"
  static let effect = "KillEffect"

  static let model: ManagedObjectModel = {
    do {
      return try ManagedObjectModel(name: "Kills") {
        Entity(folder, userInfo: ["uniquenessAttributes": "id", "logTransactions": "true"]) {
          Attribute("id", .string)
          Attribute("tag", .string)
          Attribute("rank", .int64)
          Relationship("notes", toMany: note, inverse: "folder", deleteRule: .cascade)
        }
        Entity(note, userInfo: ["uniquenessAttributes": "id", "logTransactions": "true"]) {
          Attribute("id", .string)
          Attribute("tag", .string)
          Attribute("rank", .int64)
          Relationship("folder", toOne: folder, inverse: "notes")
        }
        // Without a uniqueness constraint, so that a second effect would be seen.
        Entity(effect) { Attribute("name", .string) }
      }.addingOutbox().addingPersistedActions()
    } catch {
      preconditionFailure("The model of the tests is not sound: \(error)")
    }
  }()
}
