import CoherenceCore
import Foundation

/// The whole payload of an entry with large values. It is a record of its own, so that lists of entries do not read it.
final class OutboxContentRecord: ManagedObject, DeclaredEntity {
  struct Properties: EntityProperties {
    static let table = Properties()
    let payload = AttributeKey<Data>("payload")
    let entry = ToOneKey<OutboxEntryRecord>("entry")
  }

  static var entityName: String { "CoherenceOutboxContent" }
  static var entityDeclaration: Entity {
    Entity(entityName, class: OutboxContentRecord.self) {
      Attribute("payload", .data)
      Relationship("entry", toOne: OutboxEntryRecord.entityName, inverse: "contents", optional: false)
    }
  }

  var payload: Data {
    get { self[Properties.table.payload] }
    set { self[Properties.table.payload] = newValue }
  }

  var entry: OutboxEntryRecord? {
    get { self[Properties.table.entry] }
    set { self[Properties.table.entry] = newValue }
  }
}
