/// The members of an unordered to-many relationship, loaded on first access. May be used where the owner's context may
/// be used.
///
/// The order of iteration is fixed: saved members by key, then unsaved members in order of insertion. Like all
/// accessors the collection neither throws nor traps. When members cannot be loaded, it is empty, the owner becomes
/// unavailable, and the context reports the error.
///
/// An iteration loads all members. ``count``, ``isEmpty``, ``contains(_:)``, ``first``, ``request`` and changes of single
/// members do not: each sends one statement, unless the members are loaded.
///
/// The type is a sequence and no `Collection`: an iteration leaves out members whose records another writer deleted, so
/// that a position from one moment may have no member in the next. `Array(artist.albums)` is a collection.
public struct ToMany<Element: ManagedObject>: Sequence {
  let members: RelatedObjects<Element>

  /// The number of members. Does not load the members. The numbers of neighbours, which came with one fetch, are counted
  /// together.
  public var count: Int { members.count }
  /// Whether the relationship has no members. Does not load the members.
  public var isEmpty: Bool { members.isEmpty }
  /// The identifiers of the members.
  public var objectIDs: [ManagedObjectID] { members.ids }

  /// Whether an object is a member. Loads no list of all members, unless a unit of work asks more than a few times.
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
  /// - Throws: Errors of the store, and ``ErrorCode/objectNotFound`` when the owner is gone.
  public func load() throws { try members.load() }
}
