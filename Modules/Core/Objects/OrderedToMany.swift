/// The members of an ordered to-many relationship, loaded when they are first asked for.
///
/// Like all accessors the collection neither throws nor traps: when members cannot be loaded it is empty, the owner is
/// marked unavailable, and the error is reported on the context.
public struct OrderedToMany<Element: ManagedObject>: RandomAccessCollection {
  let owner: ManagedObject
  let name: String

  private func attempt<T>(_ fallback: T, _ body: (RelationshipDescription) throws -> T) -> T {
    do {
      return try body(try owner.toMany(named: name))
    } catch {
      owner.becomeUnavailable(error)
      return fallback
    }
  }

  public var startIndex: Int { 0 }
  public var endIndex: Int { attempt(0) { try owner.memberIDs(of: $0).count } }
  /// The identifiers of the members, in order.
  public var objectIDs: [ManagedObjectID] { attempt([]) { try owner.memberIDs(of: $0) } }

  /// - Precondition: The position is in the collection.
  public subscript(position: Int) -> Element {
    let relationship = try? owner.toMany(named: name)
    let id = objectIDs[position]
    guard let relationship, let object = try? owner.member(id, of: relationship) as? Element else {
      preconditionFailure("The member at \(position) cannot be loaded; use `load()` to learn why.")
    }
    return object
  }

  public func makeIterator() -> AnyIterator<Element> {
    let objects = attempt([]) { relationship in
      try owner.memberIDs(of: relationship).compactMap { try owner.member($0, of: relationship) as? Element }
    }
    return AnyIterator(objects.makeIterator())
  }

  public func contains(_ object: Element) -> Bool { attempt(false) { try owner.memberIDs(of: $0).contains(object.id) } }

  /// Adds an object at the end and sets its inverse. A member stays where it is.
  public func append(_ object: Element) { attempt(()) { try owner.insertMember(object, into: $0) } }

  /// Adds an object, or moves a member, to a position.
  ///
  /// - Parameter index: From zero to the number of members; values outside count as the nearest.
  public func insert(_ object: Element, at index: Int) {
    attempt(()) { relationship in
      try owner.insertMember(object, into: relationship)
      try move(object.id, to: index, in: relationship)
    }
  }

  /// Removes an object and clears its inverse. Removing what is no member does nothing.
  public func remove(_ object: Element) { attempt(()) { try owner.removeMember(object, from: $0) } }

  /// Removes the member at a position.
  ///
  /// - Precondition: The position is in the collection.
  public func remove(at index: Int) { remove(self[index]) }
  public func removeAll() { replace(with: []) }

  /// Moves a member to another position.
  ///
  /// - Precondition: `from` is in the collection.
  public func move(from: Int, to: Int) { attempt(()) { try move(objectIDs[from], to: to, in: $0) } }

  /// Makes these objects the members, in this order.
  public func replace(with objects: [Element]) { attempt(()) { try owner.replaceMembers(of: $0, with: objects) } }

  private func move(_ id: ManagedObjectID, to index: Int, in relationship: RelationshipDescription) throws {
    var order = try owner.memberIDs(of: relationship)
    order.removeAll { $0 == id }
    order.insert(id, at: Swift.max(0, Swift.min(index, order.count)))
    try owner.reorderMembers(of: relationship, order)
  }

  /// The members that satisfy a predicate, in their order, found by the store as far as it can.
  ///
  /// - Throws: As a fetch.
  public func filtered(_ predicate: FetchPredicate) throws -> [Element] {
    try owner.filteredMembers(of: try owner.toMany(named: name), by: predicate)
  }

  /// Loads the members and their rows, in few reads.
  ///
  /// - Throws: Errors of the store, and ``ErrorCode/objectNotFound`` when the owner is gone.
  public func load() throws { try owner.fulfill([name]) }
}

extension OrderedToMany: ToManyCollection {}
