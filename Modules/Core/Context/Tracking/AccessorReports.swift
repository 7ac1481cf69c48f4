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

  /// The treatment of an added report.
  enum Addition {
    /// The report is in the list.
    case listed
    /// The report is the first one that the full list does not take.
    case full
    /// The list has a report of the same object and kind, or was full before.
    case passedOver
  }

  private struct Key: Hashable {
    let objectID: ManagedObjectID
    let losesChange: Bool
  }

  /// The listed reports, the earliest first.
  private(set) var list: [Report] = []
  private var listedKeys: Set<Key> = []
  /// Whether a report was not listed because the list was full.
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
    guard !listedKeys.contains(key) else { return .passedOver }
    if list.count < Self.bound {
      list.append(report)
      listedKeys.insert(key)
      return .listed
    }
    if report.losesChange { unlistedLoss = unlistedLoss ?? report }
    defer { isFull = true }
    return isFull ? .passedOver : .full
  }

  mutating func remove(_ id: ManagedObjectID) {
    guard !list.isEmpty else { return }
    for losesChange in [false, true] where listedKeys.remove(Key(objectID: id, losesChange: losesChange)) != nil {
      list.removeAll { $0.objectID == id && $0.losesChange == losesChange }
    }
  }

  mutating func removeAll() {
    list = []
    listedKeys = []
    isFull = false
    unlistedLoss = nil
  }
}
