import CoherenceCore
import Foundation

/// The order in which the records of an outbox can be sent.
///
/// A record waits
/// - while its first entry is parked, while a process sends its first entry, and until the time of the next attempt;
/// - for the insert of each record that its first request refers to;
/// - if its first request is a delete, for every record whose entries refer to the deleted record before or after their
///   change: members leave a parent before the parent is deleted;
/// - if it is new, for the deletion of an earlier record with its key: the server knows both by the key alone, and would
///   refuse the insert, or delete the new record.
///
/// Records that wait for each other form a circle, a strongly connected component. The record with the oldest first
/// entry breaks the circle: it is sent first, without its references to records that the server does not have yet. A
/// deletion, and a record that waits for one, breaks no circle.
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

  /// The entries of one record, in the order of the record's saves.
  private struct Run {
    let nodes: [OutboxNode]
    /// The entries that the first request of the record sends.
    let firstGroup: EntryGroup

    var head: OutboxNode { nodes[0] }
    /// Whether the server does not have the record yet and will get it. A record that a later entry deletes does not
    /// count, so that no other record waits for it.
    var isUnsentInsert: Bool { head.facts.kind == .insert && !nodes.contains { $0.facts.kind == .delete } }
    /// Whether the first request deletes the record.
    var deletes: Bool { firstGroup.outcome == .delete || firstGroup.outcome == .deleteOfUncertainInsert }
  }

  private let runs: [OutboxRecord: Run]
  /// The records in the order of their first entries.
  private let order: [OutboxRecord]
  /// For each record, the records to send before it.
  private let predecessors: [OutboxRecord: Set<OutboxRecord>]
  /// The circle of each record in a circle.
  private let circles: [OutboxRecord: Circle]

  /// Records that wait for each other.
  private final class Circle: Sendable {
    let members: Set<OutboxRecord>
    /// The record that is sent first.
    let first: OutboxRecord

    init(_ members: [OutboxRecord], first: OutboxRecord) {
      self.members = Set(members)
      self.first = first
    }
  }

  /// Makes the graph of all entries from the oldest up to some save, given in any order.
  ///
  /// The cost grows with the number of entries and references.
  init(_ nodes: [OutboxNode]) {
    let runs = Dictionary(grouping: nodes, by: \.record).mapValues { nodes in
      let sorted = nodes.sorted { $0.precedes($1) }
      return Run(nodes: sorted, firstGroup: EntryGroup.groups(of: sorted.map(\.facts))[0])
    }
    self.runs = runs
    // The compared values stand beside each record, because a look-up for each comparison took a third of a search.
    order = runs.map { (sequence: $1.head.sequence, key: $1.head.id.key, record: $0) }
      .sorted { ($0.sequence, $0.key) < ($1.sequence, $1.key) }.map(\.record)
    let formerRecords = Self.formerRecords(runs)
    let predecessors = Self.predecessors(runs).merging(formerRecords) { $0.union($1) }
    self.predecessors = predecessors
    let positions = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
    func rank(_ record: OutboxRecord) -> (Int, Int) {
      (runs[record]!.deletes || formerRecords[record] != nil ? 1 : 0, positions[record]!)
    }
    var circles: [OutboxRecord: Circle] = [:]
    for members in StrongComponents(of: order, successors: { predecessors[$0] ?? [] }).components
    where members.count > 1 {
      let circle = Circle(members, first: members.min { rank($0) < rank($1) }!)
      for member in members { circles[member] = circle }
    }
    self.circles = circles
  }

  /// For each new record with the key of a deleted one, the records whose deletions come first. The deletion of a record
  /// that the server never had is no request.
  private static func formerRecords(_ runs: [OutboxRecord: Run]) -> [OutboxRecord: Set<OutboxRecord>] {
    var deletions: [OutboxNode.UniqueKey: [OutboxNode]] = [:]
    for run in runs.values where run.firstGroup.outcome != .nothing {
      guard let last = run.nodes.last, last.facts.kind == .delete, let key = last.uniqueKey else { continue }
      deletions[key, default: []].append(last)
    }
    guard !deletions.isEmpty else { return [:] }
    var result: [OutboxRecord: Set<OutboxRecord>] = [:]
    for (record, run) in runs where run.head.facts.kind == .insert {
      guard let key = run.head.uniqueKey else { continue }
      for deletion in deletions[key, default: []]
      where deletion.record != record && deletion.transaction <= run.head.transaction {
        result[record, default: []].insert(deletion.record)
      }
    }
    return result
  }

  private static func predecessors(_ runs: [OutboxRecord: Run]) -> [OutboxRecord: Set<OutboxRecord>] {
    var result: [OutboxRecord: Set<OutboxRecord>] = [:]
    let deleted = Set(runs.filter { $0.value.deletes }.keys)
    for (record, run) in runs {
      for (index, node) in run.nodes.enumerated() {
        for reference in node.references where reference.record != record {
          let target = reference.record
          if deleted.contains(target) { result[target, default: []].insert(record) }
          guard index < run.firstGroup.range.upperBound, reference.role == .new, !run.deletes,
            runs[target]?.isUnsentInsert == true
          else { continue }
          result[record, default: []].insert(target)
        }
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
