import Synchronization

/// The saves of other writers that this context has not processed yet.
///
/// Posting never waits for the context. Above a bound the list of changes collapses to "everything may have changed",
/// so that the inbox of a context which never processes it does not grow, such as a main context in a process that
/// never runs its main queue.
final class Inbox: Sendable {
  /// The greatest number of records whose changes an inbox lists, and the greatest number of identifiers of each kind
  /// that it keeps after the list collapsed.
  static let bound = 10_000

  enum Content {
    case nothing
    case changes([ChangeSet], count: Int)
    case everything(Overflow)
  }

  /// The part of a collapsed list that no later read could recover.
  struct Overflow {
    /// The latest permanent identifiers. The permanent identifiers of older saves are dropped above the bound.
    private(set) var permanentIDs: [ManagedObjectID: ManagedObjectID] = [:]
    /// The deleted records; `nil` above the bound: then the stores have to be asked which records are deleted.
    private(set) var deleted: Set<ManagedObjectID>? = []

    mutating func add(_ changes: ChangeSet) {
      permanentIDs.merge(changes.permanentIDs) { $1 }
      if permanentIDs.count > bound {
        permanentIDs = changes.permanentIDs.count > bound ? [:] : changes.permanentIDs
      }
      deleted?.formUnion(changes.deleted)
      if let count = deleted?.count, count > bound { deleted = nil }
    }
  }

  /// Changed in place, so that the cost of a post depends on the save's own changes and not on earlier ones.
  private struct Queue {
    var changes: [ChangeSet] = []
    var count = 0
    var overflow: Overflow?

    var isEmpty: Bool { changes.isEmpty && overflow == nil }

    mutating func add(_ fresh: ChangeSet) {
      let freshCount = max(fresh.count, 1)
      if overflow == nil, count + freshCount <= bound {
        changes.append(fresh)
        count += freshCount
      } else {
        collapse()
        overflow?.add(fresh)
      }
    }

    private mutating func collapse() {
      guard overflow == nil else { return }
      var collected = Overflow()
      for known in changes { collected.add(known) }
      overflow = collected
      changes = []
      count = 0
    }

    var content: Content {
      if let overflow { return .everything(overflow) }
      return changes.isEmpty ? .nothing : .changes(changes, count: count)
    }
  }

  private let queue = Locked(Queue())
  private let isEmptyHint = Atomic<Bool>(true)

  var isEmpty: Bool { isEmptyHint.load(ordering: .acquiring) }

  /// The number of listed records; after a collapse, the number of identifiers of the more numerous kind.
  var size: Int {
    queue.withLock { queue in
      guard let overflow = queue.overflow else { return queue.count }
      return max(overflow.permanentIDs.count, overflow.deleted?.count ?? 0)
    }
  }

  /// Adds the changes of a save. Returns whether the inbox was empty, so that the context has to be scheduled to
  /// process it.
  func post(_ changes: ChangeSet) -> Bool {
    queue.withLock { queue in
      let wasEmpty = queue.isEmpty
      queue.add(changes)
      isEmptyHint.store(false, ordering: .releasing)
      return wasEmpty
    }
  }

  /// The content, which stays.
  var content: Content { isEmpty ? .nothing : queue.withLock { $0.content } }

  /// Removes and returns the content.
  func removeAll() -> Content {
    guard !isEmpty else { return .nothing }
    return queue.withLock { queue in
      defer {
        queue = Queue()
        isEmptyHint.store(true, ordering: .releasing)
      }
      return queue.content
    }
  }
}
