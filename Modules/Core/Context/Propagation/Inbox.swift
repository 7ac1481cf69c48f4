import Synchronization

/// What others saved and this context did not take in yet.
///
/// Posting never waits for the context. Above a bound the contents collapse to "everything may have changed", so that
/// an unread inbox does not grow: that of a main context in a process which never serves its main queue, say.
final class Inbox: Sendable {
  /// The most records that an inbox keeps apart, and the most of each kind of identifiers that it keeps beyond that.
  static let bound = 10_000

  enum Content {
    case nothing
    case changes([ChangeSet], count: Int)
    case everything(Overflow)
  }

  /// The part of too many changes that no later read would find again.
  struct Overflow {
    /// The latest permanent identifiers. Those of temporary identifiers unused for this long are given up.
    private(set) var permanentIDs: [ManagedObjectID: ManagedObjectID] = [:]
    /// `nil` when these are too many as well: then the store has to be asked which records are deleted.
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

  /// Changed in place: each save pays for its own changes, not for the earlier ones.
  private struct Mail {
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

  private let mail = Locked(Mail())
  private let isEmptyHint = Atomic<Bool>(true)

  var isEmpty: Bool { isEmptyHint.load(ordering: .acquiring) }

  /// How much is kept: records kept apart, or identifiers of the more numerous kind.
  var size: Int {
    mail.withLock { mail in
      guard let overflow = mail.overflow else { return mail.count }
      return max(overflow.permanentIDs.count, overflow.deleted?.count ?? 0)
    }
  }

  /// Adds the changes of a save. Returns whether the inbox was empty, so that its context has to be notified.
  func post(_ changes: ChangeSet) -> Bool {
    mail.withLock { mail in
      let wasEmpty = mail.isEmpty
      mail.add(changes)
      isEmptyHint.store(false, ordering: .releasing)
      return wasEmpty
    }
  }

  /// Takes everything out.
  func drain() -> Content {
    guard !isEmpty else { return .nothing }
    return mail.withLock { mail in
      defer {
        mail = Mail()
        isEmptyHint.store(true, ordering: .releasing)
      }
      return mail.content
    }
  }
}
