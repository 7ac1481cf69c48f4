/// The difference between two states of a live result.
///
/// Applied in the order deletes and moved records out, then inserts and moved records in, each by ascending index, the
/// changes turn the former list into the present one; see ``apply(to:)``. The differences of one stream follow each
/// other without a gap. The first difference of a stream begins at the empty list.
public struct ResultChanges<Result: ManagedObject>: Sendable {
  /// The change of one record.
  public enum Change: Sendable, Hashable {
    /// A record that entered the result, at its index in the present list.
    case insert(ManagedObjectID, at: Int)
    /// A record that left the result, at its index in the former list.
    case delete(ManagedObjectID, at: Int)
    /// A record with another place among the records that stayed, at its indexes in the former and the present list. Its
    /// values changed.
    case move(ManagedObjectID, from: Int, to: Int)
    /// A record with changed values at an unchanged place among the records that stayed, at its indexes in the former and
    /// the present list.
    case update(ManagedObjectID, from: Int, to: Int)
  }

  /// The changes: deletes by ascending former index, then inserts, moves and updates by ascending present index.
  public let changes: [Change]
  /// The indexes in the former list of sections that the result no longer has, ascending.
  public let deletedSections: [Int]
  /// The indexes in the present list of new sections, ascending.
  public let insertedSections: [Int]
  /// The permanent identifiers of records of the former list by their temporary ones. Their changes have the permanent
  /// identifier.
  public let renamed: [ManagedObjectID: ManagedObjectID]
  /// The list before the changes.
  public let former: ResultSnapshot<Result>
  /// The list after the changes.
  public let current: ResultSnapshot<Result>

  init(_ difference: ResultDifference) {
    changes = difference.changes.map { change in
      switch change {
      case .insert(let id, let to): .insert(id, at: to)
      case .delete(let id, let from): .delete(id, at: from)
      case .move(let id, let from, let to): .move(id, from: from, to: to)
      case .update(let id, let from, let to): .update(id, from: from, to: to)
      }
    }
    deletedSections = difference.deletedSections
    insertedSections = difference.insertedSections
    renamed = difference.renamed
    former = ResultSnapshot(difference.former)
    current = ResultSnapshot(difference.current)
  }

  /// Turns the former list into the present one.
  ///
  /// - Parameter list: Elements for the records of the former list, in its order.
  /// - Parameter make: Returns the element of a record that the changes insert, move or update.
  public func apply<Element>(to list: inout [Element], _ make: (ManagedObjectID) throws -> Element) rethrows {
    for change in changes.reversed() {
      switch change {
      case .delete(_, let index): list.remove(at: index)
      default: continue
      }
    }
    // The former indexes of moved records count the deleted ones.
    let deleted = changes.compactMap { if case .delete(_, let index) = $0 { index } else { nil } }
    func place(_ former: Int) -> Int { former - SortedEntries.partition(deleted.count) { deleted[$0] < former } }
    let moved = changes.compactMap { if case .move(_, let from, _) = $0 { place(from) } else { nil } }.sorted(by: >)
    for index in moved { list.remove(at: index) }
    for change in changes {
      switch change {
      case .insert(let id, let to), .move(let id, _, let to): list.insert(try make(id), at: to)
      default: continue
      }
    }
    for change in changes {
      if case .update(let id, _, let to) = change { list[to] = try make(id) }
    }
  }

  /// Turns the identifiers of the former list into those of the present one.
  public func apply(to list: inout [ManagedObjectID]) { apply(to: &list) { $0 } }
}
