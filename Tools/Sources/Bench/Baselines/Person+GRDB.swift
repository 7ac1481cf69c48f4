import Foundation
import GRDB

/// The record as GRDB's guide writes it for speed: columns by index.
extension Person: FetchableRecord, PersistableRecord {
  static let databaseTableName = "person"

  init(row: Row) {
    self.init(
      id: row[0], uuid: row[1], firstName: row[2], middleName: row[3], lastName: row[4], email: row[5], age: row[6],
      score: row[7], created: Date(microseconds: row[8]), isActive: row[9], notes: row[10])
  }

  func encode(to container: inout PersistenceContainer) {
    container["id"] = id
    container["uuid"] = uuid
    container["firstName"] = firstName
    container["middleName"] = middleName
    container["lastName"] = lastName
    container["email"] = email
    container["age"] = age
    container["score"] = score
    container["created"] = created.microseconds
    container["isActive"] = isActive
    container["notes"] = notes
  }
}
