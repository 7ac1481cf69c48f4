import CoherenceActions
import CoherenceCore
import Foundation

/// Reads the entries and the log of the stores as pending edits, inside of a context. Makes no entries of the log.
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

  /// Returns the pending inserts and deletions of an entity and its subentities. The values of inserts are not read.
  func insertsAndDeletions(of entity: EntityDescription) throws -> [PendingEdit] {
    let names = entity.hierarchy.flatMap { [$0.name] + $0.formerNames }.map(AttributeValue.string)
    let kinds = [OutboxEntryKind.insert, .delete].map(\.attributeValue)
    let request = FetchRequest(OutboxEntryRecord.self)
      .filter(.membership(.path(PropertyPath(names: ["entityName"])), in: names))
      .filter(.membership(.path(PropertyPath(names: ["kind"])), in: kinds))
    let sink = try HeadSink(model: coordinator.managedObjectModel)
    try context.read(request, into: sink)
    let known = Set(entity.hierarchy.flatMap { [$0.name] + $0.formerNames })
    try context.forEachLoggedChange { change, save in
      if change.kind != .update, known.contains(change.entityName) {
        sink.add(EntryHead(change, save, in: coordinator.managedObjectModel))
      }
    }
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
    storeIdentifier(of: id).flatMap { coordinator.persistentStore(with: $0) }
  }

  /// The store of an entry, or the store that will receive an unsaved entry of this context.
  private func storeIdentifier(of id: ManagedObjectID) -> StoreIdentifier? {
    id.storeIdentifier ?? (context.registeredObject(with: id) as? OutboxEntryRecord)?.storeIdentifier
  }

  // MARK: Edits

  /// Returns the pending edits of some records, each with all values of its entries. A record with a single update, the
  /// usual case, is read without an object.
  func edits(of ids: [ManagedObjectID]) throws -> [PendingEdit] {
    let wanted = Set(ids)
    var edits: [PendingEdit] = []
    for (root, group) in Dictionary(grouping: ids, by: \.entity.root) {
      let rootNames = [root.name] + root.formerNames
      let sink = try UpdateSink(model: coordinator.managedObjectModel)
      try context.forEachEntryRequest(ofKeys: group.map(\.key), rootNames: rootNames) {
        try context.read($0, into: sink)
      }
      let keys = Set(group.map(\.key))
      try context.forEachLoggedChange { change, save in
        guard keys.contains(change.record.key), rootNames.contains(change.record.rootName) else { return }
        sink.add(EntryHead(change, save, in: coordinator.managedObjectModel), payload: change.payload)
      }
      // The number of entries for each key. Records of two stores may share a key; the identifiers below distinguish
      // them.
      var counts: [Int64: Int] = [:]
      for entry in sink.entries { counts[entry.head.record.key, default: 0] += 1 }
      var others: Set<Int64> = []
      for entry in sink.entries {
        guard entry.head.kind == .update, counts[entry.head.record.key] == 1 else {
          others.insert(entry.head.record.key)
          continue
        }
        guard let id = id(of: entry.head.record, entry: entry.head.id), wanted.contains(id) else { continue }
        edits.append(edit(of: id, entry))
      }
      for (record, entries) in try self.entries(ofKeys: Array(others), rootNames) {
        guard let first = entries.first, let id = id(of: record.record, entry: first.id), wanted.contains(id),
          let edit = PendingEdit(id, entries, in: store(of: first.id))
        else { continue }
        edits.append(edit)
      }
    }
    return edits
  }

  private func edit(of id: ManagedObjectID, _ entry: UpdateSink.Entry) -> PendingEdit {
    var edit = PendingEdit(of: id, .update, isBeingSent: entry.head.state == .sending)
    let entity = coordinator.managedObjectModel.entity(recordedAs: entry.head.entityName) ?? id.entity
    guard let store = store(of: entry.head.id), let payload = try? EntryReader.payload(entry.payload) else {
      edit.keepAll(of: entity)
      return edit
    }
    for field in payload.0 {
      guard let name = entity.property(recordedAs: field.name)?.name else { continue }
      edit.changed.insert(name)
      edit.base[name] = field.base?.attributeValue(in: store)
    }
    for change in payload.1 {
      guard let name = entity.property(recordedAs: change.name)?.name else { continue }
      edit.changed.insert(name)
      edit.members[name] = PendingMembers(
        added: Set(change.added.compactMap { $0.objectID(in: store) }),
        removed: Set(change.removed.compactMap { $0.objectID(in: store) }))
    }
    return edit
  }

  private func entries(ofKeys keys: [Int64], _ rootNames: [String]) throws -> [StoredRecord: [OutboxEntry]] {
    guard !keys.isEmpty else { return [:] }
    let decoder = EntryDecoder(coordinator: coordinator)
    var entries = try context.entryRecords(ofKeys: keys, rootNames: rootNames).map { try decoder.entry($0) }
    let known = Set(keys)
    try context.forEachLoggedChange { change, save in
      guard known.contains(change.record.key), rootNames.contains(change.record.rootName) else { return }
      entries.append(decoder.entry(change, of: save))
    }
    return Dictionary(grouping: entries) { StoredRecord(store: storeIdentifier(of: $0.id), record: $0.record) }
  }
}

/// A record in a store.
private struct StoredRecord: Hashable {
  let store: StoreIdentifier?
  let record: OutboxRecord
}

/// The properties of an entry that a merge needs without the entry's values.
private struct EntryHead {
  let id: ManagedObjectID
  let record: OutboxRecord
  /// The name of the record's own entity when the entry was recorded.
  let entityName: String
  let kind: OutboxEntryKind
  let state: OutboxEntryState
  let isRejected: Bool
  let groupEnd: Int64?

  init(
    id: ManagedObjectID, record: OutboxRecord, entityName: String, kind: OutboxEntryKind, state: OutboxEntryState,
    isRejected: Bool, groupEnd: Int64?
  ) {
    self.id = id
    self.record = record
    self.entityName = entityName
    self.kind = kind
    self.state = state
    self.isRejected = isRejected
    self.groupEnd = groupEnd
  }

  /// Makes the head of a logged change, whose entry is not made yet. The head has the identifier of the log's record.
  init(_ change: LogChange, _ save: LoggedSave, in model: ManagedObjectModel) {
    self.init(
      id: save.id, record: change.record.renamed(in: model), entityName: change.entityName, kind: change.kind,
      state: .pending, isRejected: false, groupEnd: nil)
  }

  /// Whether the server may have applied the entry.
  var isBeingSent: Bool { state == .sending || (groupEnd != nil && !isRejected) }
}

/// Collects the heads of entries.
private final class HeadSink: ValueSink {
  let slots: [Int]
  private let model: ManagedObjectModel
  private(set) var heads: [EntryHead] = []
  var count: Int { heads.count }
  /// The head of the last entry.
  var last: EntryHead? { heads.last }

  init(model: ManagedObjectModel) throws {
    self.model = model
    let table = OutboxEntryRecord.Properties.table
    let names = [
      table.rootName.name, table.recordKey.name, table.kind.name, table.state.name, table.isRejected.name,
      table.groupEnd.name, table.entityName.name,
    ]
    let entity = try model.entity(named: OutboxEntryRecord.entityName)
    slots = [Row.identifierSlot] + names.compactMap { entity.attribute(named: $0)?.slot }
  }

  /// Adds the head of a logged change.
  func add(_ head: EntryHead) { heads.append(head) }

  func take(_ values: UnsafeMutablePointer<AttributeValue>) {
    defer { values.deinitialize(count: slots.count) }
    guard case .reference(let id) = values[0] else { return }
    func value<T: AttributeConvertible>(_ index: Int) -> T { T(attributeValue: values[index]) ?? T.attributeDefault }
    heads.append(
      EntryHead(
        id: id, record: OutboxRecord(rootName: value(1), key: value(2)).renamed(in: model), entityName: value(7),
        kind: value(3),
        state: value(4), isRejected: value(5), groupEnd: value(6)))
  }
}

/// Collects the heads and the payloads of entries.
private final class UpdateSink: ValueSink {
  struct Entry {
    let head: EntryHead
    let payload: Data
  }

  private let heads: HeadSink
  let slots: [Int]
  private(set) var entries: [Entry] = []
  var count: Int { entries.count }

  init(model: ManagedObjectModel) throws {
    heads = try HeadSink(model: model)
    let name = OutboxEntryRecord.Properties.table.payload.name
    let payload = try model.entity(named: OutboxEntryRecord.entityName).attribute(named: name)?.slot
    slots = heads.slots + (payload.map { [$0] } ?? [])
  }

  /// Adds a logged change.
  func add(_ head: EntryHead, payload: Data) { entries.append(Entry(head: head, payload: payload)) }

  func take(_ values: UnsafeMutablePointer<AttributeValue>) {
    let index = heads.slots.count
    defer { (values + index).deinitialize(count: slots.count - index) }
    let known = heads.count
    heads.take(values)
    guard heads.count > known, let head = heads.last, case .data(let payload) = values[index] else { return }
    entries.append(Entry(head: head, payload: payload))
  }
}
