import Synchronization

/// What others saved and this context did not take in yet.
///
/// Posting never waits for the context. Above a bound the contents collapse to "everything may have changed", so that an
/// inbox that nobody empties does not grow.
final class Inbox: Sendable {
  /// The most records that an inbox tells apart.
  static let bound = 10_000

  enum Content {
    case nothing
    case changes([ChangeSet], count: Int)
    /// Too much to tell apart; identifiers are still kept, for they cannot be found again.
    case everything(permanentIDs: [ManagedObjectID: ManagedObjectID], deleted: Set<ManagedObjectID>)
  }

  private let content = Mutex(Content.nothing)
  private let isEmptyHint = Atomic<Bool>(true)

  var isEmpty: Bool { isEmptyHint.load(ordering: .acquiring) }

  /// Adds what was saved. Answers whether the inbox was empty, so that somebody has to be told to drain it.
  func post(_ changes: ChangeSet) -> Bool {
    content.withLock { content in
      let wasEmpty: Bool
      if case .nothing = content { wasEmpty = true } else { wasEmpty = false }
      content = Self.adding(changes, to: content)
      isEmptyHint.store(false, ordering: .releasing)
      return wasEmpty
    }
  }

  private static func adding(_ changes: ChangeSet, to content: Content) -> Content {
    switch content {
    case .nothing:
      return changes.count > bound ? collapsed([changes]) : .changes([changes], count: changes.count)
    case .changes(let list, let count):
      return count + changes.count > bound
        ? collapsed(list + [changes]) : .changes(list + [changes], count: count + changes.count)
    case .everything(var permanentIDs, var deleted):
      permanentIDs.merge(changes.permanentIDs) { $1 }
      deleted.formUnion(changes.deleted)
      return .everything(permanentIDs: permanentIDs, deleted: deleted)
    }
  }

  private static func collapsed(_ list: [ChangeSet]) -> Content {
    var permanentIDs: [ManagedObjectID: ManagedObjectID] = [:]
    for changes in list { permanentIDs.merge(changes.permanentIDs) { $1 } }
    return .everything(permanentIDs: permanentIDs, deleted: Set(list.flatMap(\.deleted)))
  }

  /// Takes everything out.
  func drain() -> Content {
    guard !isEmpty else { return .nothing }
    return content.withLock { content in
      defer {
        content = .nothing
        isEmptyHint.store(true, ordering: .releasing)
      }
      return content
    }
  }
}
