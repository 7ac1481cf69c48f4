/// Faults of one kind that accessors loaded one by one in one unit of work: of records of one entity, or of one
/// relationship.
///
/// A loop that reads a relationship of one object after the other, with one statement for each object, is a repetition.
/// Objects of one fetch load their relationships together, and are none.
public struct RepeatedFaults: Sendable, CustomStringConvertible {
  /// The name of the entity of the loaded records, or of the relationship's owners.
  public let entityName: String
  /// The name of the relationship; `nil` for faults of records.
  public let relationshipName: String?
  /// The number of reads.
  public let count: Int
  /// The calls that led to the first read.
  fileprivate let trace: CallTrace?

  /// The file and line that caused the first read, or the name of the function where the program has no debug
  /// information; `nil` on a platform without stack traces.
  ///
  /// Each access reads the debug information of the program, which takes seconds for a large program. May be read on any
  /// thread, also after the closure of a ``FaultPolicy`` has returned.
  public var location: String? { trace?.location }

  /// The entity, the relationship, the number, and the ``location``. Costs as much as an access to the location.
  public var description: String {
    let subject =
      relationshipName.map { "the relationship '\(entityName).\($0)'" } ?? "records of '\(entityName)'"
    let firstLocation = location.map { ", first at \($0)" } ?? ""
    return "\(count) reads loaded \(subject) one by one\(firstLocation)."
  }
}

/// The subject of a fault: the records of an entity, or a relationship of the entity.
struct FaultSubject: Hashable, Sendable {
  let entityName: String
  let relationshipName: String?
}

/// Counts faults, by subject.
struct FaultCounts: Sendable {
  private struct Entry {
    var count = 0
    /// The calls that led to the first fault.
    let trace: CallTrace?
  }

  private var entries: [FaultSubject: Entry] = [:]
  private var order: [FaultSubject] = []

  var isEmpty: Bool { entries.isEmpty }

  /// Counts a fault.
  ///
  /// - Returns: The number of faults of the subject.
  mutating func note(_ subject: FaultSubject) -> Int {
    if entries[subject] == nil {
      entries[subject] = Entry(trace: CallTrace())
      order.append(subject)
    }
    entries[subject]!.count += 1
    return entries[subject]!.count
  }

  /// The subjects with more faults than a limit, in the order of their first faults.
  func repetitions(beyond limit: Int) -> [RepeatedFaults] { order.compactMap { repetition(of: $0, beyond: limit) } }

  /// The faults of a subject; `nil` for no more than a limit.
  func repetition(of subject: FaultSubject, beyond limit: Int) -> RepeatedFaults? {
    guard let entry = entries[subject], entry.count > limit else { return nil }
    return RepeatedFaults(
      entityName: subject.entityName, relationshipName: subject.relationshipName, count: entry.count,
      trace: entry.trace)
  }
}
