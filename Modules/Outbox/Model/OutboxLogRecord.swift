import CoherenceCore
import Foundation

/// The changes of one save from which no entries are made yet. A large save has several such records.
///
/// A save writes no entries: one row without indexes beside its key costs much less than a row with the indexes of
/// ``OutboxEntryRecord`` for each change. The first list, count, search or change of entries makes them, see
/// `ManagedObjectContext.makeEntries(of:)`, and deletes the record in the same transaction. Other readers take the
/// changes from the record, see `ManagedObjectContext.forEachLoggedChange(_:)`.
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

  /// The sequence of the first change.
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
