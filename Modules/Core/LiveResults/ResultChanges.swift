/// The difference between two states of a live result.
///
/// ``apply(to:)`` turns the former list into the present list: it first removes deleted and moved records, then inserts
/// new and moved records by ascending index. The differences of a stream have no gaps: each begins at the list where
/// the previous difference ends. The first difference of a stream begins at the empty list.
public struct ResultChanges<Result: ManagedObject>: Sendable {
  /// The change of one record.
  public enum Change: Sendable, Hashable {
    /// A record that entered the result, at its index in the present list.
    case insert(ManagedObjectID, at: Int)
    /// A record that left the result, at its index in the former list.
    case delete(ManagedObjectID, at: Int)
    /// A record with changed values and another position relative to the remaining records, at its indexes in the
    /// former and the present list.
    case move(ManagedObjectID, from: Int, to: Int)
    /// A record with changed values and an unchanged position relative to the remaining records, at its indexes in the
    /// former and the present list.
    case update(ManagedObjectID, from: Int, to: Int)
  }

  /// The changes: deletes by ascending former index, then inserts, moves and updates by ascending present index.
  public let changes: [Change]
  /// The indexes in the former list of sections that the result no longer has, ascending.
  public let deletedSections: [Int]
  /// The indexes in the present list of new sections, ascending.
  public let insertedSections: [Int]
  /// The permanent identifiers of saved records, by the temporary identifiers in the former list. ``changes`` have the
  /// permanent identifiers.
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

  /// Turns a list of elements for the former records into a list for the present records. The cost grows with the
  /// length of the list and the number of changes, not with their product: each element moves twice at most. Elements
  /// outside of the first and the last changed index do not move, unless the length of the list changes.
  ///
  /// Ends the process for a list with fewer elements than ``former``.
  ///
  /// - Parameters:
  ///   - list: Elements for the records of ``former``, in its order. An error of `make` leaves the list unchanged.
  ///   - make: Returns the element of a record that the changes insert, move or update. Called in the order of
  ///     ``changes``.
  /// - Throws: The error of `make`.
  public func apply<Element>(to list: inout [Element], _ make: (ManagedObjectID) throws -> Element) rethrows {
    Misuse.check(
      list.count >= former.count,
      "The list has \(list.count) elements, and the changes begin at a list of \(former.count); pass a list with "
        + "an element for each record of `former`.")
    var removed: [Int] = []
    var inserted: [(element: Element, index: Int)] = []
    var updated: [(element: Element, index: Int)] = []
    // Every element is made before the list changes, because `make` may throw.
    for change in changes {
      switch change {
      case .insert(let id, let to): inserted.append((try make(id), to))
      case .delete(_, let from): removed.append(from)
      case .move(let id, let from, let to):
        removed.append(from)
        inserted.append((try make(id), to))
      case .update(let id, _, let to): updated.append((try make(id), to))
      }
    }
    list.replaceElements(at: removed.sorted(), with: inserted)
    for (element, index) in updated { list[index] = element }
  }

  /// Turns the identifiers of the former list into the identifiers of the present list; see ``apply(to:_:)``.
  public func apply(to list: inout [ManagedObjectID]) { apply(to: &list) { $0 } }
}

extension Array {
  /// Removes the elements at ascending indexes, and inserts elements at ascending indexes of the resulting list.
  ///
  /// The elements before the first and behind the last of these indexes stay. Those behind shift once, in one piece, if
  /// the length of the list changes.
  fileprivate mutating func replaceElements(at removed: [Int], with inserted: [(element: Element, index: Int)]) {
    guard let start = [removed.first, inserted.first?.index].compactMap({ $0 }).min() else { return }
    let newCount = count - removed.count + inserted.count
    let following = Swift.min(count - 1 - (removed.last ?? -1), newCount - 1 - (inserted.last?.index ?? -1))
    let (oldEnd, newEnd) = (count - following, newCount - following)
    // The remaining elements move to the start, and the removed elements behind them.
    var end = start
    var next = removed[...]
    for index in start..<oldEnd {
      if next.first == index {
        next.removeFirst()
      } else {
        swapAt(index, end)
        end += 1
      }
    }
    // The list gets its new length. Behind the remaining elements, each inserted element has an element to replace.
    if newEnd < oldEnd {
      removeSubrange(newEnd..<oldEnd)
    } else if newEnd > oldEnd {
      insert(contentsOf: inserted.suffix(newEnd - oldEnd).map { $0.element }, at: oldEnd)
    }
    // The remaining elements move from the end, so that each of them moves once.
    var (source, target) = (end - 1, newEnd - 1)
    for (element, index) in inserted.reversed() {
      while target > index {
        swapAt(target, source)
        target -= 1
        source -= 1
      }
      self[index] = element
      target -= 1
    }
  }
}
