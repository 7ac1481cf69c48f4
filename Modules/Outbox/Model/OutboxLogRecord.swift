import CoherenceCore
import Foundation

/// The changes of one save whose entries were not made yet, or a part of the changes of a large save.
///
/// A save writes this record only: one row without an index beside its key costs a small part of what a row with the
/// indexes of ``OutboxEntryRecord`` costs for each change. The first reader makes the entries, see
/// `ManagedObjectContext.makeEntries(of:)`, and deletes the record in the same transaction.
final class OutboxLogRecord: ManagedObject, DeclaredEntity {
  struct Properties: EntityProperties {
    static let table = Properties()
    let sequence = AttributeKey<Int64>("sequence")
    let transaction = AttributeKey<Int64>("transaction")
    let author = AttributeKey<String?>("author")
    let enqueued = AttributeKey<Date>("enqueued")
    let payload = AttributeKey<Data>("payload")
  }

  static var entityName: String { "CoherenceOutboxLog" }
  static var entityDeclaration: Entity {
    Entity(entityName, class: OutboxLogRecord.self) {
      Attribute("sequence", .int64)
      Attribute("transaction", .int64)
      Attribute("author", .string, optional: true)
      Attribute("enqueued", .date)
      Attribute("payload", .data)
    }
  }

  /// The least sequence of the changes.
  var sequence: Int64 { self[Properties.table.sequence] }
  /// See ``OutboxEntryRecord/transaction``.
  var transaction: Int64 { self[Properties.table.transaction] }
  /// The transaction author of the context that saved.
  var author: String? { self[Properties.table.author] }
  /// The time of the save by the clock of the device.
  var enqueued: Date { self[Properties.table.enqueued] }
  /// The changes, in the format of ``LogWriter``.
  var payload: Data { self[Properties.table.payload] }
}
