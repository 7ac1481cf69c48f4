import CoherenceCore
import Foundation

/// The order in which the records of an outbox can be sent.
///
/// A record waits
/// - while its first entry is parked, while a process sends its first entry, and until the time of the next attempt;
/// - for the insert of each record that its first request refers to;
/// - if its first request is a delete, for every record whose entries refer to the deleted record before or after their
///   change: members leave a parent before the parent is deleted;
/// - if it is new, for the deletion of an earlier record with its key, and for the update by which an earlier record gives
///   its key up: the server knows both by the key alone, and would refuse the insert, or change the new record;
/// - if its first request is an update with another key, or an insert with the key of a later update, in the same way.
///   The nodes do not have the keys of updates, so that the graph knows them from the ``TakenKey``s alone. Records that
///   exchange their keys do not wait for each other: no order of their updates is right;
/// - if its first request names a record by its key, for the sendable or attempted update by which that record gets
///   another key. The other way round, such an update waits for the requests on their way that name the record.
///
/// Records that wait for each other form a circle, a strongly connected component. The record with the oldest first
/// entry breaks the circle: it is sent first, without its references to records that the server does not have yet. A
/// deletion, and a record that waits for a deletion or for a key, breaks no circle.
struct CausalGraph: Sendable {
  /// A record whose first request can be sent now.
  struct Ready: Sendable {
    let record: OutboxRecord
    /// The sequence of the record's first entry.
    let sequence: Int64
    /// The records that the request refers to although the server does not have them yet. The request leaves these
    /// references out.
    let deferred: Set<OutboxRecord>
    /// Whether the user has retried the record's first entry since the last attempt.
    let isRetried: Bool
  }

  /// The reason why the first request of a record cannot be sent now.
  enum Waiting: Equatable, Sendable {
    /// The first entry is parked.
    case parked
    /// A process sends the first entry.
    case sending
    /// The time of the next attempt is in the future.
    case notDue(Date)
    /// Other records are sent first.
    case records(Set<OutboxRecord>)
  }

  /// A unique key that the first request of a record gives the record.
  struct TakenKey: Sendable {
    let key: OutboxNode.UniqueKey
    /// The ``OutboxNode/transaction`` of the entry with the key. Another record had the key in an earlier save at most.
    let transaction: Int64
  }

  /// The entries of one record, in the order of the record's saves.
  private struct Run {
    let nodes: [OutboxNode]
    /// The entries that the first request of the record sends.
    let firstGroup: EntryGroup
    /// The indices of the first entries after those of a request that the server has decided on or may have applied.
    let laterStarts: [Int]

    init(_ nodes: [OutboxNode]) {
      let facts = nodes.map(\.facts)
      let groups = EntryGroup.groups(of: facts)
      self.nodes = nodes
      firstGroup = groups[0]
      // A delete absorbs an attempted request, after which the server may know the record by another key.
      let claimedEnd = EntryGroup.claimedEnd(at: 0, of: facts).map { $0 < groups[0].range.upperBound ? [$0] : [] } ?? []
      laterStarts = claimedEnd + groups.dropFirst().map(\.range.lowerBound)
    }

    var head: OutboxNode { nodes[0] }
    /// Whether the server does not have the record yet and will get it. A record that a later entry deletes does not
    /// count, so that no other record waits for it.
    var isUnsentInsert: Bool { head.facts.kind == .insert && !nodes.contains { $0.facts.kind == .delete } }
    /// Whether the first request deletes the record.
    var deletes: Bool { firstGroup.outcome == .delete || firstGroup.outcome == .deleteOfUncertainInsert }
    /// Whether the first request may give a record with identifying values another key than that of the first entry.
    var mayTakeKey: Bool {
      guard head.identity != nil else { return false }
      return firstGroup.outcome == .update || firstGroup.outcome == .insert && firstGroup.range.count > 1
    }
    /// The key of a new record.
    var insertedKey: TakenKey? {
      guard head.facts.kind == .insert, let key = head.uniqueKey else { return nil }
      return TakenKey(key: key, transaction: head.transaction)
    }
    /// The indices of the entries with the keys by which the server may know the record, now or between two requests. A
    /// store has no other record with a key, so that a new record with the key of one of these entries shows that a later
    /// state of this record has another one.
    var keyOwners: [Int] {
      let last = nodes.count - 1
      let isKnown = head.facts.kind == .update || head.facts.kind == .insert && head.facts.isAttempted
      return (isKnown ? [0] : []) + laterStarts + (nodes[last].facts.kind == .delete ? [last] : [])
    }
  }

  /// A record by whose key the server may know it.
  private struct KeyOwner: Sendable {
    let record: OutboxRecord
    /// The first ``OutboxNode/transaction`` after which another record may have the key.
    let transaction: Int64
  }

  private let runs: [OutboxRecord: Run]
  /// The records in the order of their first entries.
  private let order: [OutboxRecord]
  /// The records that the server may know by a key; empty if no first request takes a key.
  private let owners: [OutboxNode.UniqueKey: [KeyOwner]]
  /// For each record with a known taken key, the other records by which the server may know the key, and for each
  /// record that names such a record, the named one or the other way round.
  private let keyWaits: [OutboxRecord: Set<OutboxRecord>]
  /// The part of ``keyWaits`` for which the records wait.
  private let awaitedKeys: [OutboxRecord: Set<OutboxRecord>]
  /// The new records that wait for the keys of their inserts although their requests may have the keys of later updates.
  let waitingForFirstKeys: [OutboxRecord]
  /// For each record, the records to send before it.
  private let predecessors: [OutboxRecord: Set<OutboxRecord>]
  /// The circle of each record in a circle.
  private let circles: [OutboxRecord: Circle]

  /// Records that wait for each other.
  private final class Circle: Sendable {
    let members: Set<OutboxRecord>
    /// The record that is sent first.
    let first: OutboxRecord

    init(_ members: Set<OutboxRecord>, first: OutboxRecord) {
      self.members = members
      self.first = first
    }
  }

  /// Makes the graph of all entries from the oldest up to some save, given in any order.
  ///
  /// The cost grows with the number of entries and references.
  ///
  /// - Parameter takenKeys: The known keys that first requests take from their updates, by record. Any other request is
  ///   taken for one without such a key.
  init(_ nodes: [OutboxNode], taking takenKeys: [OutboxRecord: TakenKey] = [:]) {
    let runs = Dictionary(grouping: nodes, by: \.record).mapValues { Run($0.sorted { $0.precedes($1) }) }
    self.runs = runs
    // The compared values stand beside each record, because a look-up for each comparison took a third of a search.
    order = runs.map { (sequence: $1.head.sequence, key: $1.head.id.key, record: $0) }
      .sorted { ($0.sequence, $0.key) < ($1.sequence, $1.key) }.map(\.record)
    let inserts = runs.filter { $0.value.head.facts.kind == .insert && $0.value.head.identity != nil }
    let owners = inserts.isEmpty && takenKeys.isEmpty ? [:] : Self.owners(runs)
    let insertedKeys = inserts.compactMapValues(\.insertedKey).filter { takenKeys[$0.key] == nil }
    let formerRecords = owners.isEmpty ? [:] : Self.formerOwners(of: insertedKeys, owners)
    let formerOwners = Self.formerOwners(of: takenKeys, owners)
    let (references, deletions) = Self.predecessors(runs)
    let known = deletions.merging(formerRecords) { $0.union($1) }
    let changed = takenKeys.keys.filter { runs[$0]?.firstGroup.outcome == .update }
    let keyWaits = formerOwners.merging(
      Self.waitsOfNames(runs, changed: Set(changed)) {
        known[$0] != nil || formerOwners[$0] != nil || references[$0] != nil
      }
    ) { $0.union($1) }
    let others = known.merging(references) { $0.union($1) }
    let awaitedKeys = Self.withoutCircles(keyWaits, beside: others, order)
    let strict = known.merging(awaitedKeys) { $0.union($1) }
    let predecessors = strict.merging(references) { $0.union($1) }
    self.owners = owners
    waitingForFirstKeys = formerRecords.keys.filter { runs[$0]?.mayTakeKey == true }
    self.keyWaits = keyWaits
    self.awaitedKeys = awaitedKeys
    self.predecessors = predecessors
    let positions = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
    /// A request can leave its references out, and no other wait within the circle.
    func rank(_ record: OutboxRecord, in circle: Set<OutboxRecord>) -> (Int, Int) {
      guard let awaited = strict[record] else { return (runs[record]!.deletes ? 1 : 0, positions[record]!) }
      return (awaited.isDisjoint(with: circle) ? 1 : 2, positions[record]!)
    }
    var circles: [OutboxRecord: Circle] = [:]
    for members in StrongComponents(of: order, successors: { predecessors[$0] ?? [] }).components
    where members.count > 1 {
      let set = Set(members)
      let circle = Circle(set, first: members.map { (rank($0, in: set), $0) }.min { $0.0 < $1.0 }!.1)
      for member in members { circles[member] = circle }
    }
    self.circles = circles
  }

  /// The records that the server may know by a key. The deletion of a record that the server never had is no request.
  private static func owners(_ runs: [OutboxRecord: Run]) -> [OutboxNode.UniqueKey: [KeyOwner]] {
    var owners: [OutboxNode.UniqueKey: [KeyOwner]] = [:]
    for (record, run) in runs where run.firstGroup.outcome != .nothing {
      for index in run.keyOwners {
        guard let key = run.nodes[index].uniqueKey else { continue }
        // The update of a reference that a request left out is older in the record than later edits, and has a greater
        // transaction.
        let transaction = run.nodes[index...].reduce(Int64.max) { min($0, $1.transaction) }
        owners[key, default: []].append(KeyOwner(record: record, transaction: transaction))
      }
    }
    return owners
  }

  /// For each record with a taken key by which the server knows an earlier record, the earlier records: deleted ones,
  /// and those whose pending updates give the key up.
  private static func formerOwners(
    of takenKeys: [OutboxRecord: TakenKey], _ owners: [OutboxNode.UniqueKey: [KeyOwner]]
  ) -> [OutboxRecord: Set<OutboxRecord>] {
    var result: [OutboxRecord: Set<OutboxRecord>] = [:]
    for (record, taken) in takenKeys {
      for owner in owners[taken.key, default: []]
      where owner.record != record && owner.transaction <= taken.transaction {
        result[record, default: []].insert(owner.record)
      }
    }
    return result
  }

  /// The waits between records whose keys change and records whose first requests name them. A request names a record by
  /// one key, which the server has to know when the request arrives.
  ///
  /// - Parameters:
  ///   - changed: The records whose first requests change their keys.
  ///   - isBlocked: Whether a changed record waits for others. Without an attempt, the server knows its former key until
  ///     then.
  private static func waitsOfNames(
    _ runs: [OutboxRecord: Run], changed: Set<OutboxRecord>, _ isBlocked: (OutboxRecord) -> Bool
  ) -> [OutboxRecord: Set<OutboxRecord>] {
    guard !changed.isEmpty else { return [:] }
    var result: [OutboxRecord: Set<OutboxRecord>] = [:]
    for (record, run) in runs where !run.deletes {
      for reference in run.nodes[run.firstGroup.range].lazy.flatMap(\.references) {
        let named = reference.record
        guard named != record, changed.contains(named), let head = runs[named]?.head.facts else { continue }
        if run.head.facts.state == .sending {
          result[named, default: []].insert(record)
        } else if head.isAttempted || head.state == .sending || head.state == .pending && !isBlocked(named) {
          result[record, default: []].insert(named)
        }
      }
    }
    return result
  }

  /// The waits of updates for keys, without those between records of one circle.
  ///
  /// - Parameter predecessors: The other waits. References are among them: a search chooses its first records without
  ///   the new keys of updates, and would not find the request that could leave its reference out.
  private static func withoutCircles(
    _ waits: [OutboxRecord: Set<OutboxRecord>], beside predecessors: [OutboxRecord: Set<OutboxRecord>],
    _ order: [OutboxRecord]
  ) -> [OutboxRecord: Set<OutboxRecord>] {
    guard !waits.isEmpty else { return [:] }
    let all = predecessors.merging(waits) { $0.union($1) }
    var circles: [OutboxRecord: Int] = [:]
    for (index, members) in StrongComponents(of: order, successors: { all[$0] ?? [] }).components.enumerated() {
      for member in members { circles[member] = index }
    }
    var result: [OutboxRecord: Set<OutboxRecord>] = [:]
    for (record, owners) in waits {
      let others = owners.filter { circles[$0] != circles[record] }
      if !others.isEmpty { result[record] = others }
    }
    return result
  }

  /// For each record, the unsent inserts of the records to which its first request refers, and for a deletion the
  /// records that refer to the deleted one.
  private static func predecessors(
    _ runs: [OutboxRecord: Run]
  ) -> (references: [OutboxRecord: Set<OutboxRecord>], deletions: [OutboxRecord: Set<OutboxRecord>]) {
    var references: [OutboxRecord: Set<OutboxRecord>] = [:]
    var deletions: [OutboxRecord: Set<OutboxRecord>] = [:]
    let deleted = Set(runs.filter { $0.value.deletes }.keys)
    for (record, run) in runs {
      for (index, node) in run.nodes.enumerated() {
        for reference in node.references where reference.record != record {
          let target = reference.record
          if deleted.contains(target) { deletions[target, default: []].insert(record) }
          guard index < run.firstGroup.range.upperBound, reference.role == .new, !run.deletes,
            runs[target]?.isUnsentInsert == true
          else { continue }
          references[record, default: []].insert(target)
        }
      }
    }
    return (references, deletions)
  }

  /// The keys by which the server may know records; empty if no first request takes a key.
  var ownedKeys: Set<OutboxNode.UniqueKey> { Set(owners.keys) }

  /// The records whose first requests may take keys of other records.
  var keyTakers: Set<OutboxRecord> { Set(runs.filter { $0.value.mayTakeKey }.keys) }

  /// The records that are known to wait because of keys that other records take or give up.
  var waitingForKeys: Set<OutboxRecord> { Set(awaitedKeys.keys) }

  /// The records for which some records wait, directly or over other records, and whose first requests may take keys.
  /// These keys decide whether the records wait for each other.
  func keyTakers(awaitedBy records: Set<OutboxRecord>) -> Set<OutboxRecord> {
    var result: Set<OutboxRecord> = []
    var seen = records
    var unvisited = Array(records)
    while let record = unvisited.popLast() {
      for awaited in (predecessors[record] ?? []).union(keyWaits[record] ?? [])
      where seen.insert(awaited).inserted {
        unvisited.append(awaited)
        if runs[awaited]?.mayTakeKey == true { result.insert(awaited) }
      }
    }
    return result
  }

  /// Returns the records whose first requests can be sent, in the order of their first entries.
  ///
  /// - Parameters:
  ///   - date: The present time.
  ///   - limit: The greatest number of records.
  ///   - longestWait: The longest time for which a process postpones an attempt. A date further in the future means
  ///     that the clock was set back, and is ignored.
  ///   - longestLease: The longest time for which a process claims an entry, likewise.
  ///   - excluded: The records that this program does not send.
  func ready(
    at date: Date, limit: Int, longestWait: Duration? = nil, longestLease: Duration? = nil,
    without excluded: Set<OutboxRecord> = []
  ) -> [Ready] {
    var result: [Ready] = []
    for record in order where excluded.isEmpty || !excluded.contains(record) {
      if result.count >= limit { break }
      guard waiting(record, at: date, longestWait: longestWait, longestLease: longestLease) == nil else { continue }
      let unsent = (predecessors[record] ?? []).filter { runs[$0]?.isUnsentInsert == true }
      let run = runs[record]!
      result.append(
        Ready(
          record: record, sequence: run.head.sequence, deferred: run.deletes ? [] : unsent,
          isRetried: run.head.isRetried))
    }
    return result
  }

  /// Returns the reason why a record cannot be sent; `nil` for a sendable record, and for a record without entries.
  func waiting(
    _ record: OutboxRecord, at date: Date, longestWait: Duration? = nil, longestLease: Duration? = nil
  ) -> Waiting? {
    guard let run = runs[record] else { return nil }
    func latest(_ limit: Duration?) -> Date {
      limit.map { date.addingTimeInterval($0 / .seconds(1)) } ?? .distantFuture
    }
    // A record inserted and deleted without an attempt needs no request, so that its entries are deleted in every
    // state.
    if run.firstGroup.outcome == .nothing { return nil }
    switch run.head.facts.state {
    case .parked: return .parked
    case .sending: if run.head.isClaimed(at: date, until: latest(longestLease)) { return .sending }
    case .pending:
      let next = run.head.nextAttempt
      if next > date, next <= latest(longestWait) { return .notDue(next) }
    }
    var awaited = predecessors[record] ?? []
    if let circle = circles[record], circle.first == record { awaited.subtract(circle.members) }
    return awaited.isEmpty ? nil : .records(awaited)
  }
}
