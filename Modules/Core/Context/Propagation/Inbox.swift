import Synchronization

/// The saves of other contexts that this context has not merged yet.
///
/// Posting never waits for the context. Above a bound the list of changes collapses to "everything may have changed".
/// So the inbox of an unused context does not grow, such as a main-queue context in a process that never runs its main
/// queue.
///
/// A context without objects and unsaved records ignores changes of known records. Its inbox drops them, so that the
/// saves of a program do not wake all unused contexts.
final class Inbox: Sendable {
  /// The greatest number of changes that an inbox lists, the greatest number of links that it keeps with them, and the
  /// greatest number of identifiers of each kind that it keeps after the list collapsed, unless one save has more.
  static let bound = 10_000

  /// The posted changes, as the context processes them.
  enum Content {
    case nothing
    case changes([ChangeSet], count: Int)
    case everything(Overflow)
  }

  /// The part of a collapsed list that a later read of the stores cannot recover.
  struct Overflow {
    /// The latest permanent identifiers. Above the bound, those of the last save are kept alone, however many they are.
    /// The context then asks its parents for the others.
    private(set) var permanentIDs: [ManagedObjectID: ManagedObjectID]
    /// The deleted records; `nil` above the bound. The context then asks the stores which of its records still exist.
    private(set) var deleted: Set<ManagedObjectID>?

    init(permanentIDs: [ManagedObjectID: ManagedObjectID] = [:], deleted: Set<ManagedObjectID>? = []) {
      self.permanentIDs = permanentIDs
      self.deleted = deleted
    }

    mutating func add(_ changes: ChangeSet) {
      add(changes.permanentIDs)
      deleted?.formUnion(changes.deleted)
      dropDeletedAboveBound()
    }

    mutating func add(_ other: Overflow) {
      add(other.permanentIDs)
      if let further = other.deleted { deleted?.formUnion(further) } else { deleted = nil }
      dropDeletedAboveBound()
    }

    private mutating func add(_ further: [ManagedObjectID: ManagedObjectID]) {
      if permanentIDs.count + further.count > bound, !further.isEmpty {
        permanentIDs = further
      } else {
        permanentIDs.merge(further) { $1 }
      }
    }

    private mutating func dropDeletedAboveBound() {
      if let count = deleted?.count, count > bound { deleted = nil }
    }
  }

  /// Changed in place, so that the cost of a post does not grow with the listed changes, except for the post that
  /// collapses them.
  private struct Queue {
    var changes: [ChangeSet] = []
    /// The number of changes in `changes`, at least one for each save.
    var count = 0
    /// The number of links in `changes`.
    var linkCount = 0
    /// The content after `changes` collapsed; `nil` before.
    var overflow: Overflow?

    var isEmpty: Bool { changes.isEmpty && overflow == nil }

    mutating func add(_ posted: ChangeSet) {
      let postedCount = max(posted.count, 1)
      if overflow == nil, count + postedCount <= bound {
        changes.append(withinBound(posted))
        count += postedCount
      } else {
        collapse()
        overflow?.add(posted)
      }
    }

    /// The changes, without their links above the bound: unsaved changes of the same links then stay until the context
    /// saves.
    private mutating func withinBound(_ posted: ChangeSet) -> ChangeSet {
      guard let links = posted.links else { return posted }
      let postedCount = links.count
      if linkCount + postedCount <= bound {
        linkCount += postedCount
        return posted
      }
      var posted = posted
      posted.links = nil
      return posted
    }

    mutating func add(_ everything: Overflow) {
      collapse()
      overflow?.add(everything)
    }

    private mutating func collapse() {
      guard overflow == nil else { return }
      var collected = Overflow()
      for listed in changes { collected.add(listed) }
      overflow = collected
      changes = []
      (count, linkCount) = (0, 0)
    }

    var content: Content {
      if let overflow { return .everything(overflow) }
      return changes.isEmpty ? .nothing : .changes(changes, count: count)
    }
  }

  private let queue = Locked(Queue())
  /// A copy of the queue's emptiness, so that each operation of the context can look at it without the lock.
  private let isEmptyHint = Atomic<Bool>(true)

  /// Whether the context applies removed content. The context's owner alone writes it.
  private let isApplying = Atomic<Bool>(false)
  /// Whether the context has no state that changes of known records concern. Changed under the lock of the queue.
  private let isContextEmpty = Atomic<Bool>(false)

  var isEmpty: Bool { isEmptyHint.load(ordering: .acquiring) }

  /// Whether posted changes wait, or are being applied. If it is `false`, a record of the context that is read
  /// afterwards includes all changes posted before.
  var hasUnapplied: Bool { !isEmpty || isApplying.load(ordering: .acquiring) }

  /// The number of listed changes; after a collapse, the number of permanent or of deleted identifiers, the greater of
  /// the two. For tests.
  var size: Int {
    queue.withLock { queue in
      guard let overflow = queue.overflow else { return queue.count }
      return max(overflow.permanentIDs.count, overflow.deleted?.count ?? 0)
    }
  }

  /// Notes that the context has no state that changes of known records concern: no objects, unsaved records, live
  /// results, pinned snapshot, undo history or children. Does nothing while changes wait, which will give it objects.
  func noteEmptyContext() {
    queue.withLock { if $0.isEmpty { isContextEmpty.store(true, ordering: .relaxed) } }
  }

  /// Has the inbox keep all changes from now on. Called at the beginning of each block of the context, before its first
  /// read.
  @inline(__always) func noteUse() {
    guard isContextEmpty.load(ordering: .relaxed) else { return }
    // Under the lock: a dropped save precedes the block, whose reads see the save.
    queue.withLock { _ in isContextEmpty.store(false, ordering: .relaxed) }
  }

  /// Adds the changes of a save. Changes of known records are dropped if they concern nothing in the context.
  ///
  /// - Returns: Whether the changes are the first in the inbox. The caller then schedules the context to process the inbox.
  func post(_ changes: ChangeSet) -> Bool {
    // Observers of the context are notified of inserted records, for which the context makes objects. Without objects, the
    // context has no temporary identifier to replace. The former permanent identifier of a joined record leads to the
    // other record from now on.
    let areOfKnownRecords = changes.inserted.isEmpty && changes.permanentIDs.keys.allSatisfy { $0.isTemporaryID }
    return post(isDroppable: areOfKnownRecords) { $0.add(changes) }
  }

  /// Collapses the list, because every record may have changed.
  ///
  /// - Returns: As ``post(_:)-(ChangeSet)``.
  func post(_ everything: Overflow) -> Bool { post { $0.add(everything) } }

  private func post(isDroppable: Bool = false, _ add: (inout Queue) -> Void) -> Bool {
    queue.withLock { queue in
      if isDroppable, queue.isEmpty, isContextEmpty.load(ordering: .relaxed) { return false }
      let wasEmpty = queue.isEmpty
      add(&queue)
      isEmptyHint.store(false, ordering: .releasing)
      return wasEmpty
    }
  }

  /// The content, which stays.
  var content: Content { isEmpty ? .nothing : queue.withLock { $0.content } }

  /// Removes the content, if there is any, and passes it to a block that applies it to the context. The block may call
  /// the method again.
  func applyAll(_ apply: (Content) -> Void) {
    if !isEmpty { applyContent(apply) }
  }

  /// As ``applyAll(_:)``, but calls the block also without any content.
  func applyContent(_ apply: (Content) -> Void) {
    let wasApplying = isApplying.load(ordering: .relaxed)
    // Before the inbox is empty, so that no other thread finds both flags cleared.
    isApplying.store(true, ordering: .releasing)
    defer { isApplying.store(wasApplying, ordering: .releasing) }
    apply(removeAll())
  }

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
