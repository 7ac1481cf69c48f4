/// The members of an object's to-many relationship, for the collections ``ToMany`` and ``OrderedToMany``. After a
/// failure, the owner's context reports the error, and the operation returns a fallback.
struct RelatedObjects<Element: ManagedObject> {
  let owner: ManagedObject
  let key: PropertyKey
  var name: String { key.name }

  /// Runs an operation on the relationship. After an error, the owner becomes unavailable, the context reports the
  /// error, and the result is the fallback.
  ///
  /// - Parameter changing: Whether the operation changes the members, so that an error loses a change.
  func attempt<T>(_ fallback: T, changing: Bool = false, _ body: (RelationshipDescription) throws -> T) -> T {
    do {
      return try body(try owner.toMany(key))
    } catch {
      owner.becomeUnavailable(error, losesChange: changing)
      return fallback
    }
  }

  /// The relationship.
  var relationship: RelationshipDescription { get throws { try owner.toMany(key) } }
  /// The name of the relationship's destination.
  var destinationName: String { (try? relationship.destination.name) ?? name }

  /// The number of members, without a list of them.
  var count: Int { attempt(0) { try owner.memberCount(of: $0) } }
  /// Whether the relationship has no members, without a list of them.
  var isEmpty: Bool { attempt(true) { try owner.hasNoMembers(of: $0) } }
  /// The number of members in the list, which is loaded.
  var listCount: Int { attempt(0) { try owner.memberIDs(of: $0).count } }
  var ids: [ManagedObjectID] { attempt([]) { try owner.memberIDs(of: $0) } }
  var objects: [Element] {
    attempt([]) { try owner.members(of: $0).compactMap { $0 as? Element } }
  }

  /// The member at a position of an ordered list; an unavailable object when it cannot be loaded.
  func member(at position: Int) -> Element {
    do {
      let relationship = try owner.toMany(key)
      let id = identifier(at: position, in: try owner.memberIDs(of: relationship))
      if let object = try owner.member(id, of: relationship) as? Element { return object }
      throw CoherenceError(.wrongType, "'\(owner.entity.name).\(name)' has members that are no \(Element.self).")
    } catch {
      owner.becomeUnavailable(error)
      return owner.unavailableMember(of: name)
    }
  }

  /// Returns the identifier at a position.
  ///
  /// - Precondition: The list has such a position.
  func identifier(at position: Int, in ids: [ManagedObjectID]) -> ManagedObjectID {
    Misuse.check(
      ids.indices.contains(position),
      "'\(name)' of \(owner) has no member at \(position): its \(ids.count) member(s) have positions from zero.")
    return ids[position]
  }

  func contains(_ object: Element) -> Bool { attempt(false) { try owner.hasMember(object.recordID, of: $0) } }
  func insert(_ object: Element) { attempt((), changing: true) { try owner.insertMember(object, into: $0) } }
  func remove(_ object: Element) { attempt((), changing: true) { try owner.removeMember(object, from: $0) } }
  func replace(with objects: [Element]) {
    attempt((), changing: true) { try owner.replaceMembers(of: $0, with: objects) }
  }
  func load() throws { try owner.load(relationships: [name]) }
}
