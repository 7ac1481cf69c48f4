import CoherenceCore
import Foundation

/// The order in which the records of an outbox can be sent.
///
/// A record waits
/// - for the decision about its first entry when that entry is parked, for the process that sends it, and for the time
///   of its next attempt;
/// - for the insert of each record that its first request refers to;
/// - with a delete, for every record whose entries refer to the deleted record before or after their change: members
///   leave a parent before the parent is deleted.
///
/// Records that wait for each other in a circle go in the order of their first entries. The first record goes without
/// its references to records of the circle that the server does not have yet.
struct CausalGraph: Sendable {
  /// A record that can be sent.
  struct Ready: Sendable {
    let record: OutboxRecord
    /// The records that the request refers to although their inserts were not sent.
    let deferred: Set<OutboxRecord>
  }

  /// The reason why a record cannot be sent.
  enum Waiting: Equatable, Sendable {
    /// The first entry is parked.
    case parked
    /// A process sends the first entry.
    case sending
    /// The time of the next attempt has not come.
    case notDue(Date)
    /// Other records go first.
    case records(Set<OutboxRecord>)
  }

  /// The entries of one record.
  private struct Run {
    let nodes: [OutboxNode]
    let firstGroup: EntryGroup

    var head: OutboxNode { nodes[0] }
    /// Whether the server gets the record by an entry that was not acknowledged yet. A record that is deleted again is
    /// not waited for.
    var isUnsentInsert: Bool { head.facts.kind == .insert && !nodes.contains { $0.facts.kind == .delete } }
    var deletes: Bool { firstGroup.outcome == .delete || firstGroup.outcome == .deleteOfUncertainInsert }
  }

  private let runs: [OutboxRecord: Run]
  /// The records in the order of their first entries.
  private let order: [OutboxRecord]
  /// For each record, the records that go before it.
  private let predecessors: [OutboxRecord: Set<OutboxRecord>]
  /// The records of each circle, by member.
  private let circles: [OutboxRecord: Circle]

  /// Records that wait for each other.
  private final class Circle: Sendable {
    let members: Set<OutboxRecord>
    let first: OutboxRecord

    init(_ members: [OutboxRecord], first: OutboxRecord) {
      self.members = Set(members)
      self.first = first
    }
  }

  /// Makes the graph of all entries from the beginning of an outbox up to some save, in any order.
  ///
  /// The cost grows with the number of entries and references.
  init(_ nodes: [OutboxNode]) {
    let runs = Dictionary(grouping: nodes, by: \.record).mapValues { nodes in
      let sorted = nodes.sorted { $0.precedes($1) }
      return Run(nodes: sorted, firstGroup: EntryGroup.groups(of: sorted.map(\.facts))[0])
    }
    self.runs = runs
    order = runs.keys.sorted {
      let (left, right) = (runs[$0]!.head, runs[$1]!.head)
      return (left.sequence, left.id.key) < (right.sequence, right.id.key)
    }
    let predecessors = Self.predecessors(runs)
    self.predecessors = predecessors
    let positions = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
    var circles: [OutboxRecord: Circle] = [:]
    for members in StrongComponents(of: order, successors: { predecessors[$0] ?? [] }).components
    where members.count > 1 {
      let circle = Circle(members, first: members.min { positions[$0]! < positions[$1]! }!)
      for member in members { circles[member] = circle }
    }
    self.circles = circles
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

  /// The records that can be sent, in the order of their first entries.
  ///
  /// - Parameters:
  ///   - date: The present time.
  ///   - limit: The greatest number of records.
  ///   - longestWait: The longest time for which a process postpones an attempt or claims an entry. A longer wait means
  ///     that the clock was set back, and is ignored.
  func ready(at date: Date, limit: Int, longestWait: Duration? = nil) -> [Ready] {
    var result: [Ready] = []
    for record in order {
      if result.count >= limit { break }
      guard waiting(record, at: date, longestWait: longestWait) == nil else { continue }
      let unsent = (predecessors[record] ?? []).filter { runs[$0]?.isUnsentInsert == true }
      result.append(Ready(record: record, deferred: runs[record]!.deletes ? [] : unsent))
    }
    return result
  }

  /// The reason why a record cannot be sent; `nil` for a record that can be sent, and for one without entries.
  func waiting(_ record: OutboxRecord, at date: Date, longestWait: Duration? = nil) -> Waiting? {
    guard let run = runs[record] else { return nil }
    let latest = longestWait.map { date.addingTimeInterval($0 / .seconds(1)) } ?? .distantFuture
    // A record that the server never had is removed whatever the state of its entries.
    if run.firstGroup.outcome == .nothing { return nil }
    switch run.head.facts.state {
    case .parked: return .parked
    case .sending: if run.head.isClaimed(at: date, until: latest) { return .sending }
    case .pending:
      if run.head.nextAttempt > date, run.head.nextAttempt <= latest { return .notDue(run.head.nextAttempt) }
    }
    var others = predecessors[record] ?? []
    if let circle = circles[record], circle.first == record { others.subtract(circle.members) }
    return others.isEmpty ? nil : .records(others)
  }
}
