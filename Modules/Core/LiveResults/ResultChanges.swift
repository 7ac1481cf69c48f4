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

  /// Turns a list of elements for the former records into a list for the present records. Each element of the list
  /// moves twice at most, however many changes there are.
  ///
  /// - Parameter list: Elements for the records of the former list, in its order.
  /// - Parameter make: Returns the element of a record that the changes insert, move or update.
  public func apply<Element>(to list: inout [Element], _ make: (ManagedObjectID) throws -> Element) rethrows {
    var removed: [Int] = []
    var inserted: [(element: Element, index: Int)] = []
    for change in changes {
      switch change {
      case .insert(let id, let to): inserted.append((try make(id), to))
      case .delete(_, let from): removed.append(from)
      case .move(let id, let from, let to):
        removed.append(from)
        inserted.append((try make(id), to))
      case .update: continue
      }
    }
    list.removeElements(at: removed.sorted())
    list.insertElements(inserted)
    for change in changes {
      if case .update(let id, _, let to) = change { list[to] = try make(id) }
    }
  }

  /// Turns the identifiers of the former list into the identifiers of the present list.
  public func apply(to list: inout [ManagedObjectID]) { apply(to: &list) { $0 } }
}

extension Array {
  /// Removes the elements at ascending indexes.
  fileprivate mutating func removeElements(at indexes: [Int]) {
    guard let first = indexes.first else { return }
    var end = first
    var removed = indexes[...]
    for index in first..<count {
      if removed.first == index {
        removed.removeFirst()
      } else {
        swapAt(index, end)
        end += 1
      }
    }
    precondition(removed.isEmpty, "The list has fewer elements than the former list.")
    removeLast(count - end)
  }

  /// Inserts elements at indexes of the resulting list, which are ascending.
  fileprivate mutating func insertElements(_ elements: [(element: Element, index: Int)]) {
    var source = count - 1
    // The new elements only make room; the end of the list moves behind them.
    append(contentsOf: elements.lazy.map(\.element))
    var target = count - 1
    for (element, index) in elements.reversed() {
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
