/// The members of an unordered to-many relationship, loaded on first access. To be used inside the owner's context.
///
/// The order of iteration is fixed: saved members by key, then unsaved members in order of insertion. Like all
/// accessors the collection neither throws nor traps. When members cannot be loaded, it is empty, the owner becomes
/// unavailable, and the context reports the error.
///
/// An iteration loads all members. ``count``, ``isEmpty``, ``contains(_:)``, ``first``, ``request`` and changes of
/// single members do not: each sends one statement, unless the members are loaded.
///
/// The type is a sequence and no `Collection`: an iteration leaves out members whose records another writer deleted, so
/// that the member of a position could disappear. `Array(artist.albums)` is a collection.
public struct ToMany<Element: ManagedObject>: Sequence {
  let members: RelatedObjects<Element>

  /// The number of members. Does not load the members. One statement counts the members of all owners from the same
  /// fetch.
  public var count: Int { members.count }
  /// Whether the relationship has no members. Does not load the members.
  public var isEmpty: Bool { members.isEmpty }
  /// The identifiers of the members.
  public var objectIDs: [ManagedObjectID] { members.ids }

  /// Returns whether an object is a member. Loads the list of all members only after more than a few calls in a unit of
  /// work.
  public func contains(_ object: Element) -> Bool { members.contains(object) }

  /// Adds an object and sets its inverse. Adding a member again does nothing.
  public func insert(_ object: Element) { members.insert(object) }
  /// Removes an object and clears its inverse. Does nothing for other objects.
  public func remove(_ object: Element) { members.remove(object) }
  /// Removes all members and clears their inverses.
  public func removeAll() { replace(with: []) }
  /// Makes these objects the members.
  public func replace(with objects: [Element]) { members.replace(with: objects) }

  /// Iterates over the members, loaded in few reads. Members whose records do not exist any more are left out.
  public func makeIterator() -> AnyIterator<Element> { AnyIterator(members.objects.makeIterator()) }

  /// Loads the members and their rows, in few reads.
  ///
  /// - Throws: Errors of the store, and ``ErrorCode/objectNotFound`` when the owner's record does not exist any more.
  public func load() throws { try members.load() }
}
