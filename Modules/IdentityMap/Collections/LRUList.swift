/// An entry of an ``LRUList``. The element retains its entry, and so finds the entry without a search. The entry does
/// not retain the element.
final class LRUEntry<Element: AnyObject> {
  unowned(unsafe) let element: Element
  /// The share of the entry in ``LRUList/cost``.
  fileprivate(set) var cost: Int
  /// The expiry time of the entry, for lists in the order of expiry.
  fileprivate(set) var deadline: Duration?
  /// The previous entry in the order of eviction.
  fileprivate unowned(unsafe) var previous: LRUEntry?
  /// The next entry in the order of eviction.
  fileprivate var next: LRUEntry?

  init(_ element: Element, cost: Int, deadline: Duration?) {
    self.element = element
    self.cost = cost
    self.deadline = deadline
  }
}

/// A doubly linked list of entries in the order of their eviction, with the sum of their costs. An operation on one
/// entry takes constant time, except for an insertion by deadline.
///
/// The list does not retain the elements. Its owner removes all entries before the list ends.
///
/// Invariants, see ``checkInvariants()``: following `next` from `first` leads to `last`, over as many entries as
/// `count` and with as much cost as `cost`; `previous` leads back the same way. An entry is in at most one list, at
/// most once.
struct LRUList<Element: AnyObject> {
  /// The next entry to evict.
  private(set) var first: LRUEntry<Element>?
  private var last: LRUEntry<Element>?
  private(set) var count = 0
  private(set) var cost = 0

  /// Removes all entries, one by one: releasing the head of a chain releases the rest recursively.
  mutating func removeAll() {
    while let entry = first {
      first = entry.next
      entry.next = nil
      entry.previous = nil
    }
    (last, count, cost) = (nil, 0, 0)
  }

  /// Adds an entry as the most recently used.
  mutating func append(_ entry: LRUEntry<Element>) {
    insert(entry, after: last)
  }

  /// Adds an entry before the entries with a later deadline.
  mutating func insertByDeadline(_ entry: LRUEntry<Element>) {
    var predecessor = last
    if let deadline = entry.deadline {
      while let later = predecessor?.deadline, later > deadline { predecessor = predecessor?.previous }
    }
    insert(entry, after: predecessor)
  }

  /// Makes an entry of the list the most recently used.
  mutating func moveToEnd(_ entry: LRUEntry<Element>, cost: Int, deadline: Duration?) {
    remove(entry)
    entry.cost = cost
    entry.deadline = deadline
    append(entry)
  }

  /// Changes the cost of an entry of the list, which keeps its position.
  mutating func setCost(of entry: LRUEntry<Element>, to cost: Int) {
    self.cost += cost - entry.cost
    entry.cost = cost
  }

  mutating func remove(_ entry: LRUEntry<Element>) {
    assert(entry.previous != nil || entry === first, "An entry leaves the list that it is in.")
    if let previous = entry.previous { previous.next = entry.next } else { first = entry.next }
    if let next = entry.next { next.previous = entry.previous } else { last = entry.previous }
    entry.previous = nil
    entry.next = nil
    count -= 1
    cost -= entry.cost
  }

  /// - Parameter predecessor: The entry before; `nil` to be the first.
  private mutating func insert(_ entry: LRUEntry<Element>, after predecessor: LRUEntry<Element>?) {
    assert(entry.previous == nil && entry.next == nil && entry !== first, "An entry is in a list once.")
    let successor = predecessor.map { $0.next } ?? first
    entry.previous = predecessor
    entry.next = successor
    if let predecessor { predecessor.next = entry } else { first = entry }
    if let successor { successor.previous = entry } else { last = entry }
    count += 1
    cost += entry.cost
  }
}

extension LRUList {
  /// Ends a debug build if an invariant of the list does not hold.
  func checkInvariants() {
    var (entryCount, totalCost) = (0, 0)
    var (previous, entry): (LRUEntry<Element>?, LRUEntry<Element>?) = (nil, first)
    while let current = entry, entryCount <= count {
      assert(current.previous === previous, "Each entry of a list refers to the previous one.")
      entryCount += 1
      totalCost += current.cost
      (previous, entry) = (current, current.next)
    }
    assert(previous === last && entry == nil, "The entries of a list lead from the first to the last.")
    assert(entryCount == count && totalCost == cost, "A list counts its entries and sums their costs.")
  }
}
