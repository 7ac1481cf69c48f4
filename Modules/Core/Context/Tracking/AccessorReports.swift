/// The failures of a context's accessors, which cannot throw: one report for each object and kind of failure, up to
/// ``bound``.
struct AccessorReports {
  /// The largest number of kept reports.
  static let bound = 100

  struct Report {
    let objectID: ManagedObjectID
    let error: any Error
    /// Whether an assignment was lost. A save then refuses, because it would not save the assigned value.
    let losesChange: Bool
  }

  /// The treatment of a report.
  enum Addition { case listed, full, passedOver }

  private struct Key: Hashable {
    let objectID: ManagedObjectID
    let losesChange: Bool
  }

  private(set) var list: [Report] = []
  private var known: Set<Key> = []
  private var isFull = false
  /// The first lost change after the list was full.
  private var unlistedLoss: Report?
  /// The number of failures so far, listed or not. The number never decreases.
  private(set) var count = 0
  /// The last failure, listed or not.
  private(set) var latest: (any Error)?

  var isEmpty: Bool { list.isEmpty }

  /// The lost changes in the list, and the first lost change after the list was full.
  var lostChanges: [Report] { list.filter(\.losesChange) + (unlistedLoss.map { [$0] } ?? []) }

  /// The first report of an object.
  func report(of id: ManagedObjectID) -> Report? { list.first { $0.objectID == id } }

  mutating func add(_ report: Report) -> Addition {
    count += 1
    latest = report.error
    let key = Key(objectID: report.objectID, losesChange: report.losesChange)
    guard !known.contains(key) else { return .passedOver }
    if list.count < Self.bound {
      list.append(report)
      known.insert(key)
      return .listed
    }
    if report.losesChange { unlistedLoss = unlistedLoss ?? report }
    defer { isFull = true }
    return isFull ? .passedOver : .full
  }

  mutating func remove(_ id: ManagedObjectID) {
    guard !list.isEmpty else { return }
    for losesChange in [false, true] where known.remove(Key(objectID: id, losesChange: losesChange)) != nil {
      list.removeAll { $0.objectID == id && $0.losesChange == losesChange }
    }
  }

  mutating func removeAll() {
    list = []
    known = []
    isFull = false
    unlistedLoss = nil
  }
}
