/// The members of an unordered to-many relationship, loaded when they are first asked for.
///
/// The members come in a definite order: saved ones by key, unsaved ones after them in order of insertion. Like all
/// accessors the collection neither throws nor traps: when members cannot be loaded it is empty, the owner is marked
/// unavailable, and the error is reported on the context.
public struct ToMany<Element: ManagedObject>: Sequence {
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

  /// The number of members.
  public var count: Int { attempt(0) { try owner.memberIDs(of: $0).count } }
  public var isEmpty: Bool { count == 0 }
  /// The identifiers of the members.
  public var objectIDs: [ManagedObjectID] { attempt([]) { try owner.memberIDs(of: $0) } }

  public func contains(_ object: Element) -> Bool { attempt(false) { try owner.memberIDs(of: $0).contains(object.id) } }

  /// Adds an object and sets its inverse. Adding a member again does nothing.
  public func insert(_ object: Element) { attempt(()) { try owner.insertMember(object, into: $0) } }
  /// Removes an object and clears its inverse. Removing what is no member does nothing.
  public func remove(_ object: Element) { attempt(()) { try owner.removeMember(object, from: $0) } }
  public func removeAll() { replace(with: []) }
  /// Makes these objects the members.
  public func replace(with objects: [Element]) { attempt(()) { try owner.replaceMembers(of: $0, with: objects) } }

  public func makeIterator() -> AnyIterator<Element> {
    let objects = attempt([]) { relationship in
      try owner.memberIDs(of: relationship).compactMap { try owner.member($0, of: relationship) as? Element }
    }
    return AnyIterator(objects.makeIterator())
  }

  /// The members that satisfy a predicate, found by the store as far as it can.
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

extension ToMany: ToManyCollection {}
