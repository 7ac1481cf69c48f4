import CoherenceCore
import Foundation

/// The record of the edits that one transaction of a forwarder acknowledged, for the merges of other processes.
///
/// The record expires; see ``SharedConfirmations``.
final class OutboxConfirmationRecord: ManagedObject, DeclaredEntity {
  struct Properties: EntityProperties {
    static let table = Properties()
    let time = AttributeKey<Date>("time")
    let process = AttributeKey<UUID>("process")
    let machine = AttributeKey<String>("machine")
    let payload = AttributeKey<Data>("payload")
  }

  static var entityName: String { "CoherenceOutboxConfirmation" }
  static var entityDeclaration: Entity {
    Entity(entityName, class: OutboxConfirmationRecord.self, indexes: [["time"]]) {
      Attribute("time", .date)
      Attribute("process", .uuid)
      Attribute("machine", .string)
      Attribute("payload", .data)
    }
  }

  /// The time of the acknowledgement by the clock of the forwarder: after the replies of the server, and before the
  /// commit.
  var time: Date {
    get { self[Properties.table.time] }
    set { self[Properties.table.time] = newValue }
  }
  /// The ``Confirmations/process`` of the forwarder.
  var process: UUID {
    get { self[Properties.table.process] }
    set { self[Properties.table.process] = newValue }
  }
  /// The ``Confirmations/machine`` of the forwarder.
  var machine: String {
    get { self[Properties.table.machine] }
    set { self[Properties.table.machine] = newValue }
  }
  /// The confirmations, in the ``EntryFormat``.
  var payload: Data {
    get { self[Properties.table.payload] }
    set { self[Properties.table.payload] = newValue }
  }
}
