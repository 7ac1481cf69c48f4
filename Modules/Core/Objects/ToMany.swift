/// The members of an unordered to-many relationship, loaded when they are first asked for.
///
/// The members come in a definite order: saved ones by key, unsaved ones after them in order of insertion. Like all
/// accessors the collection neither throws nor traps: when members cannot be loaded it is empty, the owner is marked
/// unavailable, and the error is reported on the context.
public struct ToMany<Element: ManagedObject>: Sequence {
  let members: RelatedObjects<Element>

  /// The number of members.
  public var count: Int { members.count }
  public var isEmpty: Bool { count == 0 }
  /// The identifiers of the members.
  public var objectIDs: [ManagedObjectID] { members.ids }

  public func contains(_ object: Element) -> Bool { members.contains(object) }

  /// Adds an object and sets its inverse. Adding a member again does nothing.
  public func insert(_ object: Element) { members.insert(object) }
  /// Removes an object and clears its inverse. Removing an object that does not belong to the members does nothing.
  public func remove(_ object: Element) { members.remove(object) }
  public func removeAll() { replace(with: []) }
  /// Makes these objects the members.
  public func replace(with objects: [Element]) { members.replace(with: objects) }

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
