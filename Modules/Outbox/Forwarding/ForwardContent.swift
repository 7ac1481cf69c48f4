import CoherenceCore
import Foundation

/// The contents of a request, without the type of its objects.
struct ForwardContent: Sendable {
  var entityName: String
  var kind: OutboxEntry.Kind
  var idempotencyKey: UUID
  var attempt: Int
  var record: OutboxRecord
  var objectID: ManagedObjectID?
  var keys: [String: AttributeValue]
  var values: [String: AttributeValue]
  var base: [String: AttributeValue]
  var assigned: [String: AttributeValue]
  var references: [String: ForwardReference?]
  var members: [String: ForwardMembers]
  var author: String?
  var date: Date
}
