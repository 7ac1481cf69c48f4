/// The members of a to-many relationship of an object, for the collections that accessors answer. What fails is reported
/// as accessors do, and answered by a fallback.
struct RelatedObjects<Element: ManagedObject> {
  let owner: ManagedObject
  let name: String

  func attempt<T>(_ fallback: T, changing: Bool = false, _ body: (RelationshipDescription) throws -> T) -> T {
    do {
      return try body(try owner.toMany(named: name))
    } catch {
      owner.becomeUnavailable(error, losesChange: changing)
      return fallback
    }
  }

  var count: Int { attempt(0) { try owner.memberIDs(of: $0).count } }
  var ids: [ManagedObjectID] { attempt([]) { try owner.memberIDs(of: $0) } }
  var objects: [Element] {
    attempt([]) { try owner.members(of: $0).compactMap { $0 as? Element } }
  }

  func contains(_ object: Element) -> Bool { attempt(false) { try owner.hasMember(object.id, of: $0) } }
  func insert(_ object: Element) { attempt((), changing: true) { try owner.insertMember(object, into: $0) } }
  func remove(_ object: Element) { attempt((), changing: true) { try owner.removeMember(object, from: $0) } }
  func replace(with objects: [Element]) {
    attempt((), changing: true) { try owner.replaceMembers(of: $0, with: objects) }
  }
  func filtered(_ predicate: FetchPredicate) throws -> [Element] {
    try owner.filteredMembers(of: try owner.toMany(named: name), by: predicate)
  }
  func load() throws { try owner.fulfill([name]) }
}
