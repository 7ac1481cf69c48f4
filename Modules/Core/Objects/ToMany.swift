/// The members of an unordered to-many relationship, loaded on first access. May be used where the owner's context may
/// be used.
///
/// The order of iteration is fixed: saved members by key, then unsaved members in order of insertion. Like all
/// accessors the collection neither throws nor traps. When members cannot be loaded, it is empty, the owner becomes
/// unavailable, and the context reports the error.
public struct ToMany<Element: ManagedObject>: Sequence {
  let members: RelatedObjects<Element>

  /// The number of members. Does not load their rows.
  public var count: Int { members.count }
  public var isEmpty: Bool { count == 0 }
  /// The identifiers of the members.
  public var objectIDs: [ManagedObjectID] { members.ids }

  /// Whether an object is a member. Makes no list of all members.
  public func contains(_ object: Element) -> Bool { members.contains(object) }

  /// Adds an object and sets its inverse. Adding a member again does nothing.
  public func insert(_ object: Element) { members.insert(object) }
  /// Removes an object and clears its inverse. Removing an object that is not a member does nothing.
  public func remove(_ object: Element) { members.remove(object) }
  /// Removes all members and clears their inverses.
  public func removeAll() { replace(with: []) }
  /// Makes these objects the members.
  public func replace(with objects: [Element]) { members.replace(with: objects) }

  /// Iterates over the members, loaded in few reads. Members whose records do not exist any more are left out.
  public func makeIterator() -> AnyIterator<Element> { AnyIterator(members.objects.makeIterator()) }

  /// The members that satisfy a predicate, found by the store as far as it can.
  ///
  /// - Throws: As a fetch.
  public func filtered(_ predicate: FetchPredicate) throws -> [Element] { try members.filtered(predicate) }

  /// Loads the members and their rows, in few reads.
  ///
  /// - Throws: Errors of the store, and ``ErrorCode/objectNotFound`` when the owner is gone.
  public func load() throws { try members.load() }
}
