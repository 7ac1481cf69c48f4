/// The open optimistic changes of a store, and their effects on the whole graph.
struct OptimisticState {
  /// The open changes, in the order in which they were made. A change is open exactly while it has participants.
  var openChanges: [TentativeChange] = []
  /// Changes whose end was rolled back after the release of the program's object.
  private var abandonedChanges: [TentativeChange] = []
  /// The number of nodes with the flag `tentativelyRemoved`.
  var tentativelyRemovedCount = 0
  /// The change whose effects the server's values replace, while these values are stored.
  var replacedChange: TentativeChange?

  mutating func open(_ change: TentativeChange) {
    openChanges.append(change)
  }

  mutating func close(_ change: TentativeChange) {
    openChanges.removeAll { $0 === change }
  }

  mutating func addAbandoned(_ change: TentativeChange) {
    abandonedChanges.append(change)
  }

  /// Returns the abandoned changes, once.
  mutating func takeAbandoned() -> [TentativeChange] {
    defer { abandonedChanges = [] }
    return abandonedChanges
  }

  /// Counts a node whose flag `tentativelyRemoved` has changed.
  mutating func countTentativelyRemoved(_ isRemoved: Bool) {
    tentativelyRemovedCount += isRemoved ? 1 : -1
  }
}
