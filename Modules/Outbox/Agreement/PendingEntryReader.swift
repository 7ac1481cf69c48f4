import CoherenceActions
import CoherenceCore
import Foundation

/// Reads entries as pending edits, inside of a context.
struct PendingEntryReader {
  private let context: ManagedObjectContext
  private let coordinator: PersistentStoreCoordinator

  /// - Returns: `nil` for a context without a coordinator.
  init?(in context: ManagedObjectContext) {
    guard let coordinator = context.persistentStoreCoordinator else { return nil }
    self.context = context
    self.coordinator = coordinator
  }

  // MARK: Inserts and deletions

  /// The pending inserts and deletions of an entity and its subentities. The values of inserts are not read.
  func insertsAndDeletions(of entity: EntityDescription) throws -> [PendingEdit] {
    let names = entity.hierarchy.flatMap { [$0.name] + $0.formerNames }.map(AttributeValue.string)
    let kinds = [OutboxEntryKind.insert, .delete].map(\.attributeValue)
    let request = FetchRequest(OutboxEntryRecord.self)
      .filter(.membership(.path(PropertyPath(names: ["entityName"])), in: names))
      .filter(.membership(.path(PropertyPath(names: ["kind"])), in: kinds))
    let sink = try HeadSink(model: coordinator.managedObjectModel)
    try context.read(request, into: sink)
    let ids = sink.heads.compactMap { head in self.id(of: head.record, entry: head.id).map { ($0, head) } }
    let deleted = Set(ids.filter { $1.kind == .delete }.map(\.0))
    let inserts = ids.filter { $1.kind == .insert && !deleted.contains($0) }
    return inserts.map { PendingEdit(of: $0, .insert, isBeingSent: $1.isBeingSent) }
      + (try edits(of: Array(deleted)).filter { $0.kind == .delete })
  }

  private func id(of record: OutboxRecord, entry: ManagedObjectID) -> ManagedObjectID? {
    store(of: entry).flatMap { record.objectID(in: $0) }
  }

  private func store(of id: ManagedObjectID) -> (any PersistentStore)? {
    id.storeIdentifier.flatMap { coordinator.persistentStore(with: $0) }
  }

  // MARK: Edits

  /// The pending edits of some records, each with all values of its entries.
  func edits(of ids: [ManagedObjectID]) throws -> [PendingEdit] {
    let wanted = Set(ids)
    var edits: [PendingEdit] = []
    for (root, group) in Dictionary(grouping: ids, by: \.entity.root) {
      for (record, entries) in try entries(of: group, root) {
        guard let first = entries.first, let id = self.id(of: record.record, entry: first.id), wanted.contains(id),
          let edit = PendingEdit(id, entries, in: store(of: first.id))
        else { continue }
        edits.append(edit)
      }
    }
    return edits
  }

  /// A record in a store.
  struct StoredRecord: Hashable {
    let store: StoreIdentifier?
    let record: OutboxRecord
  }

  private func entries(
    of ids: [ManagedObjectID], _ root: EntityDescription
  ) throws -> [StoredRecord: [OutboxEntry]] {
    let decoder = EntryDecoder(coordinator: coordinator)
    let records = try context.entryRecords(ofKeys: ids.map(\.key), rootNames: [root.name] + root.formerNames)
    let entries = try records.map { try decoder.entry($0) }
    return Dictionary(grouping: entries) { StoredRecord(store: $0.id.storeIdentifier, record: $0.record) }
  }
}

/// The first or last entry of a record, without its values.
private struct EntryHead {
  let id: ManagedObjectID
  let record: OutboxRecord
  let kind: OutboxEntryKind
  let state: OutboxEntryState
  let isRejected: Bool
  let groupEnd: Int64?

  /// Whether the server may have applied the entry.
  var isBeingSent: Bool { state == .sending || (groupEnd != nil && !isRejected) }
}

/// Makes heads of the values of entries.
private final class HeadSink: ValueSink {
  let slots: [Int]
  private(set) var heads: [EntryHead] = []
  var count: Int { heads.count }

  init(model: ManagedObjectModel) throws {
    let table = OutboxEntryRecord.Properties.table
    let names = [
      table.rootName.name, table.recordKey.name, table.kind.name, table.state.name, table.isRejected.name,
      table.groupEnd.name,
    ]
    let entity = try model.entity(named: OutboxEntryRecord.entityName)
    slots = [Row.identifierSlot] + names.compactMap { entity.attribute(named: $0)?.slot }
  }

  func take(_ values: UnsafeMutablePointer<AttributeValue>) {
    defer { values.deinitialize(count: slots.count) }
    guard case .reference(let id) = values[0] else { return }
    func value<T: AttributeConvertible>(_ index: Int) -> T { T(attributeValue: values[index]) ?? T.attributeDefault }
    heads.append(
      EntryHead(
        id: id, record: OutboxRecord(rootName: value(1), key: value(2)), kind: value(3), state: value(4),
        isRejected: value(5), groupEnd: value(6)))
  }
}
