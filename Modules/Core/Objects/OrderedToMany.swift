/// The members of an ordered to-many relationship, loaded on first access. To be used inside the owner's context.
///
/// Like all accessors the collection neither throws nor traps. When members cannot be loaded, it is empty, the owner
/// becomes unavailable, and the context reports the error.
///
/// Positions and iterations load the list. ``contains(_:)``, ``first``, ``request``, ``append(_:)`` and
/// ``remove(_:)-(Element)`` do not, and neither do ``count`` and ``isEmpty`` inside of `perform`: each sends at most one
/// statement, unless the list is loaded.
public struct OrderedToMany<Element: ManagedObject>: RandomAccessCollection {
  let members: RelatedObjects<Element>

  /// Zero.
  public var startIndex: Int { 0 }
  /// The number of members in the list. Loads the list.
  public var endIndex: Int { members.listCount }
  /// The number of members. Inside of `perform`, does not load the members. Outside, the list is loaded, because the
  /// members could change before a position is used.
  public var count: Int { members.count }
  /// Whether the list has no members. Loads the list where ``count`` does.
  public var isEmpty: Bool { members.isEmpty }
  /// The identifiers of the members, in order.
  public var objectIDs: [ManagedObjectID] { members.ids }

  /// The member at a position. An unavailable member is an object without a context whose accessors return defaults,
  /// and whose ``ManagedObject/isUnavailable`` is true.
  ///
  /// - Precondition: The position is in the collection.
  public subscript(position: Int) -> Element { members.member(at: position) }

  /// The members in their order, loaded in few reads. Members whose records do not exist any more are left out.
  public func makeIterator() -> AnyIterator<Element> { AnyIterator(members.objects.makeIterator()) }

  /// Zero. An iteration leaves missing members out, so that the number of its elements is unknown before the rows are
  /// loaded.
  public var underestimatedCount: Int { 0 }

  /// The elements of an iteration, for `Array` and `sorted`.
  public func _copyToContiguousArray() -> ContiguousArray<Element> { ContiguousArray(members.objects) }

  /// Returns the results of a closure for the elements of an iteration.
  public func map<T, E: Error>(_ transform: (Element) throws(E) -> T) throws(E) -> [T] {
    try members.objects.map(transform)
  }

  /// Returns whether an object is a member. Loads the list of all members only after more than a few calls in a unit of
  /// work.
  public func contains(_ object: Element) -> Bool { members.contains(object) }

  /// Adds an object at the end and sets its inverse. A member keeps its position.
  public func append(_ object: Element) { members.insert(object) }

  /// Adds an object, or moves a member, to a position. Costs as much as ``move(from:to:)``.
  ///
  /// - Parameter index: A position from zero to the number of members. Other values count as the nearest position.
  public func insert(_ object: Element, at index: Int) {
    members.attempt((), changing: true) { relationship in
      try members.owner.insertMember(object, into: relationship)
      try move(object.recordID, to: index, in: relationship)
    }
  }

  /// Removes an object and clears its inverse. Removing an object outside of the list does nothing.
  public func remove(_ object: Element) { members.remove(object) }

  /// Removes the member at a position.
  ///
  /// - Precondition: The position is in the collection.
  public func remove(at index: Int) { remove(self[index]) }
  /// Removes all members and clears their inverses.
  public func removeAll() { replace(with: []) }

  /// Moves a member to another position. A save writes the moved member. The other members keep their rows and links,
  /// unless no number is left between the stored positions of the members near the new position.
  ///
  /// Reads the order of a list that is not loaded, but makes no objects of the members. Takes time in proportion to the
  /// length of the list.
  ///
  /// - Precondition: `from` is in the collection.
  public func move(from: Int, to: Int) {
    members.attempt((), changing: true) { relationship in
      let id = try members.identifier(at: from, in: members.owner.memberOrder(of: relationship))
      try move(id, to: to, in: relationship)
    }
  }

  /// Makes these objects the members, in this order.
  public func replace(with objects: [Element]) { members.replace(with: objects) }

  /// Moves a member to an index, or to the nearest index of the list.
  private func move(_ id: ManagedObjectID, to index: Int, in relationship: RelationshipDescription) throws {
    var order = try members.owner.memberOrder(of: relationship)
    order.removeAll { $0 == id }
    order.insert(id, at: Swift.max(0, Swift.min(index, order.count)))
    try members.owner.reorderMembers(of: relationship, order)
  }

  /// Loads the members and their rows, in few reads.
  ///
  /// - Throws: Errors of the store, and ``ErrorCode/objectNotFound`` when the owner's record does not exist any more.
  public func load() throws { try members.load() }
}
