import Foundation

/// The record as a plain structure: what the C sides decode into, GRDB and mappings too.
struct Person: PersonFields, Codable, Sendable {
  var id: Int64
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
}
