import CoherenceCore
import Foundation

/// Reads entries of all stores in pages from the oldest on, without their values.
struct NodeReader {
  private let context: ManagedObjectContext
  /// The saves that are not read yet, because they are still in the log.
  private let unread: UnreadLog
  private(set) var nodes: [OutboxNode] = []
  /// The sequence up to which all entries were read.
  private(set) var end = Int64.min
  /// Whether all entries of the stores were read.
  private(set) var isAtEnd = false

  /// The greatest number of entries that the first statement reads at once, in all states. An outbox whose server is
  /// reachable rarely has more entries. A longer outbox reads these entries in vain, before it reads pages by state.
  private static let fewEntries = 128

  init(in context: ManagedObjectContext, before unread: UnreadLog) {
    self.context = context
    self.unread = unread
  }

  /// The transaction up to which all saves are known: they are completely read, and the log has no earlier save.
  var knownEnd: Int64 { min(end, unread.start - 1) }

  /// The entries of the known saves before the unreadable ones, by store.
  var completeNodes: [StoreIdentifier: [OutboxNode]] {
    let end = knownEnd
    var result: [StoreIdentifier: [OutboxNode]] = [:]
    for node in nodes where node.transaction <= end {
      guard let store = node.id.storeIdentifier, unread.isBeforeUnreadable(node.transaction, in: store) else {
        continue
      }
      result[store, default: []].append(node)
    }
    return result
  }

  /// The records of ``completeNodes``.
  var records: Set<StoredRecord> {
    completeNodes.reduce(into: []) { records, nodes in
      for node in nodes.value { records.insert(StoredRecord(store: nodes.key, record: node.record)) }
    }
  }

  /// Sets the validity of each claim.
  mutating func setClaimValidity(_ validity: (OutboxNode) -> ClaimValidity) {
    for index in nodes.indices where nodes[index].facts.state == .sending {
      nodes[index].validity = validity(nodes[index])
    }
  }

  /// Reads the next entries, at most the given number in each state.
  mutating func read(_ count: Int) throws {
    guard !isAtEnd else { return }
    if end == .min, try readFewEntries() { return }
    var pages: [OutboxNode] = []
    var pagesEnd = Int64.max
    for state in OutboxEntryState.allCases {
      let page = try page(of: state, count)
      pages += page
      // A full page ends before the last entry of its state. Further entries may have the sequence of the page's last
      // entry, so that the entries are known only below this sequence.
      if page.count == count, let last = page.last { pagesEnd = min(pagesEnd, last.sequence - 1) }
    }
    nodes += pages.filter { $0.sequence <= pagesEnd }
    isAtEnd = pagesEnd == .max
    end = isAtEnd ? nodes.reduce(end) { max($0, $1.transaction) } : max(end, pagesEnd)
  }

  /// Reads all entries if the stores have at most ``fewEntries``. Without a sort order the stores read by the primary
  /// key and stop at the limit.
  ///
  /// - Returns: Whether all entries were read.
  private mutating func readFewEntries() throws -> Bool {
    let found = try nodes(of: FetchRequest(OutboxEntryRecord.self).limit(Self.fewEntries + 1))
    guard found.count <= Self.fewEntries else { return false }
    nodes = found
    isAtEnd = true
    end = found.reduce(end) { max($0, $1.transaction) }
    return true
  }

  private func page(of state: OutboxEntryState, _ count: Int) throws -> [OutboxNode] {
    let end = end
    let request = FetchRequest(OutboxEntryRecord.self).filter { $0.state == state && $0.sequence > end }
    return try nodes(of: request.sort(\.sequence).limit(count))
  }

  private func nodes(of request: FetchRequest<OutboxEntryRecord>) throws -> [OutboxNode] {
    let sink = try NodeSink(model: context.persistentStoreCoordinator?.managedObjectModel)
    try context.read(request, into: sink)
    return sink.nodes
  }
}

/// Collects the nodes of entries.
private final class NodeSink: ValueSink {
  /// The slots of the values that ``take(_:)`` finds by their positions in this list.
  let slots: [Int]
  private(set) var nodes: [OutboxNode] = []
  var count: Int { nodes.count }

  private let model: ManagedObjectModel?
  /// The entity of the last node. Consecutive entries are mostly of one entity.
  private var lastEntity: (name: String, rootName: String, isKnown: Bool, identityScope: String?)?

  init(model: ManagedObjectModel?) throws {
    self.model = model
    let table = OutboxEntryRecord.Properties.table
    let names = [
      table.rootName.name, table.recordKey.name, table.sequence.name, table.transaction.name, table.recordVersion.name,
      table.kind.name, table.state.name, table.isRejected.name, table.groupEnd.name, table.nextAttempt.name,
      table.lease.name, table.references.name, table.claimant.name, table.entityName.name, table.identity.name,
    ]
    let entity = try model?.entity(named: OutboxEntryRecord.entityName)
    slots = [Row.identifierSlot] + names.compactMap { entity?.attribute(named: $0)?.slot }
  }

  func take(_ values: UnsafeMutablePointer<AttributeValue>) {
    defer { values.deinitialize(count: slots.count) }
    guard case .reference(let id) = values[0] else { return }
    func value<T: AttributeConvertible>(_ index: Int) -> T { T(attributeValue: values[index]) ?? T.attributeDefault }
    let sequence: Int64 = value(3)
    let references: Data? = value(12)
    let record = renamed(OutboxRecord(rootName: value(1), key: value(2)))
    let kind: OutboxEntryKind = value(6)
    let identity: Data? = value(15)
    let entity = entity(value(14), in: record.rootName)
    nodes.append(
      OutboxNode(
        id: id, record: record, sequence: sequence, transaction: value(4),
        recordVersion: value(5),
        facts: EntryGroup.Facts(
          kind: kind, state: value(7), isRejected: value(8), sequence: sequence, groupEnd: value(9)),
        nextAttempt: value(10), lease: value(11), claimant: value(13),
        isEntityKnown: entity.isKnown,
        identity: identity, identityScope: entity.identityScope,
        // Unreadable references are left out, so that the entry waits for no other record.
        references: (references.flatMap { try? EntryReader.references($0) } ?? []).map {
          EntryFormat.Reference(role: $0.role, record: renamed($0.record))
        }))
  }

  /// Whether the model has an entity with a present or former name, and the root of the hierarchy, and the name of the
  /// entity among whose records a key of the entity is unique.
  private func entity(_ name: String, in rootName: String) -> (isKnown: Bool, identityScope: String?) {
    if let lastEntity, lastEntity.name == name, lastEntity.rootName == rootName {
      return (lastEntity.isKnown, lastEntity.identityScope)
    }
    let entity = model?.entity(recordedAs: name)
    let isKnown = model?.entitiesByName[rootName] != nil && entity != nil
    let identityScope = entity?.identifyingScope.name
    lastEntity = (name, rootName, isKnown, identityScope)
    return (isKnown, identityScope)
  }

  /// The record by the name of its hierarchy in the present model.
  private func renamed(_ record: OutboxRecord) -> OutboxRecord { model.map { record.renamed(in: $0) } ?? record }
}
