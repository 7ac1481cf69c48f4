/// The members of an ordered to-many relationship, loaded when they are first asked for.
///
/// Like all accessors the collection neither throws nor traps: when members cannot be loaded it is empty, the owner is
/// marked unavailable, and the error is reported on the context.
public struct OrderedToMany<Element: ManagedObject>: RandomAccessCollection {
  let members: RelatedObjects<Element>

  public var startIndex: Int { 0 }
  public var endIndex: Int { members.count }
  /// The identifiers of the members, in order.
  public var objectIDs: [ManagedObjectID] { members.ids }

  /// The member at a position. An unavailable member is an object without a context whose accessors return defaults,
  /// and whose ``ManagedObject/isUnavailable`` is true.
  ///
  /// - Precondition: The position is in the collection.
  public subscript(position: Int) -> Element { members.member(at: position) }

  /// The members, in order, loaded in few reads. Those whose records are gone are left out.
  public func makeIterator() -> AnyIterator<Element> { AnyIterator(members.objects.makeIterator()) }

  /// Zero: how many members a walk yields is known when their rows are there, and `count` does not load them.
  public var underestimatedCount: Int { 0 }

  /// What `Array(…)` and `sorted` are made from: the members that a walk yields.
  public func _copyToContiguousArray() -> ContiguousArray<Element> { ContiguousArray(members.objects) }

  /// The results of a closure for the members that a walk yields.
  public func map<T, E: Error>(_ transform: (Element) throws(E) -> T) throws(E) -> [T] {
    try members.objects.map(transform)
  }

  public func contains(_ object: Element) -> Bool { members.contains(object) }

  /// Adds an object at the end and sets its inverse. A member stays where it is.
  public func append(_ object: Element) { members.insert(object) }

  /// Adds an object, or moves a member, to a position.
  ///
  /// - Parameter index: From zero to the number of members; values outside count as the nearest.
  public func insert(_ object: Element, at index: Int) {
    members.attempt((), changing: true) { relationship in
      try members.owner.insertMember(object, into: relationship)
      try move(object.id, to: index, in: relationship)
    }
  }

  /// Removes an object and clears its inverse. Removing an object outside of the list does nothing.
  public func remove(_ object: Element) { members.remove(object) }

  /// Removes the member at a position.
  ///
  /// - Precondition: The position is in the collection.
  public func remove(at index: Int) { remove(self[index]) }
  public func removeAll() { replace(with: []) }

  /// Moves a member to another position.
  ///
  /// - Precondition: `from` is in the collection.
  public func move(from: Int, to: Int) {
    members.attempt((), changing: true) { relationship in
      let id = try members.identifier(at: from, in: members.owner.memberIDs(of: relationship))
      try move(id, to: to, in: relationship)
    }
  }

  /// Makes these objects the members, in this order.
  public func replace(with objects: [Element]) { members.replace(with: objects) }

  private func move(_ id: ManagedObjectID, to index: Int, in relationship: RelationshipDescription) throws {
    var order = try members.owner.memberIDs(of: relationship)
    order.removeAll { $0 == id }
    order.insert(id, at: Swift.max(0, Swift.min(index, order.count)))
    try members.owner.reorderMembers(of: relationship, order)
  }

  /// The members that satisfy a predicate, in their order, found by the store as far as it can.
  ///
  /// - Throws: As a fetch.
  public func filtered(_ predicate: FetchPredicate) throws -> [Element] { try members.filtered(predicate) }

  /// Loads the members and their rows, in few reads.
  ///
  /// - Throws: Errors of the store, and ``ErrorCode/objectNotFound`` when the owner is gone.
  public func load() throws { try members.load() }
}
