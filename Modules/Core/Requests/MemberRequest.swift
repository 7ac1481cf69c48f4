public import Foundation

/// A request for members of one object's to-many relationship, which the store executes.
///
/// ```swift
/// let long = album.tracks.request.filter { $0.length > 300 }.sort(\.length, .reverse)
/// let page = try long.limit(10, offset: 20).fetch()
/// let count = try long.count()
/// ```
///
/// A request belongs to the context of its owner, and reads when ``fetch()`` or ``count()`` is called. Unsaved members,
/// removed members, and unsaved values of members count as in the collection itself. Without a criterion of order the
/// members have the order of the collection.
///
/// Cost: one statement, which reads no member outside of the range. The members' identifiers are read first, with one
/// more statement, in three cases: the owner is unsaved; a list of ordered members has unsaved moves, or unsaved
/// changes together with a condition; the relationship is many-to-many and the context has unsaved members. An already
/// loaded list is used instead of the store.
public struct MemberRequest<Member: ManagedObject> {
  let members: RelatedObjects<Member>
  var request: FetchRequest<Member>

  init(_ members: RelatedObjects<Member>) {
    self.members = members
    request = FetchRequest(entityName: members.destinationName)
  }

  private func changed(_ change: (FetchRequest<Member>) throws -> FetchRequest<Member>) rethrows -> MemberRequest {
    var result = self
    result.request = try change(request)
    return result
  }

  /// Returns the request with a further condition: members must satisfy both.
  public func filter(_ predicate: FetchPredicate) -> MemberRequest { changed { $0.filter(predicate) } }

  /// Returns the request with a further, less significant criterion of order.
  ///
  /// - Parameters:
  ///   - path: An attribute, or a path to an attribute over to-one relationships, with names separated by dots.
  ///   - options: Differences between texts to ignore. Only for attributes of type string.
  ///   - missingValues: The place of members without a value.
  public func sort(
    _ path: String, _ order: SortOrder = .forward, options: StringOptions = [],
    missingValues: MissingValuePlacement = .smallest
  ) -> MemberRequest {
    changed { $0.sort(path, order, options: options, missingValues: missingValues) }
  }

  /// Returns the request with further, less significant criteria of order.
  public func sort(_ keys: [SortKey]) -> MemberRequest {
    changed { request in keys.reduce(request) { $0.sorted(by: $1) } }
  }

  /// Returns the request with a range, in place of its limit and offset.
  ///
  /// - Parameters:
  ///   - count: The greatest number of members to return; `nil` for all.
  ///   - offset: The number of members to skip at the beginning.
  public func limit(_ count: Int?, offset: Int = 0) -> MemberRequest {
    changed { request in
      var request = request
      request.fetchLimit = count
      request.fetchOffset = offset
      return request
    }
  }

  /// Returns the members that the request describes, in its order. Members whose records do not exist are left out.
  ///
  /// - Throws: As ``ManagedObjectContext/fetch(_:)``; ``ErrorCode/objectDeleted`` when the owner is in no context.
  public func fetch() throws -> [Member] { try members.owner.fetchMembers(of: try members.relationship, request) }

  /// Returns the number of members that ``fetch()`` would return. Makes no objects.
  ///
  /// - Throws: As ``fetch()``.
  public func count() throws -> Int { try members.owner.countMembers(of: try members.relationship, request) }

  /// Returns the first member in the request's order; `nil` without members.
  ///
  /// - Throws: As ``fetch()``.
  public func first() throws -> Member? {
    guard request.fetchLimit != 0 else { return nil }
    return try limit(1, offset: request.fetchOffset).fetch().first
  }
}

extension MemberRequest where Member: DeclaredEntity {
  /// Returns the request with a further condition: members must satisfy both.
  public func filter(_ condition: (QueryScope<Member>) -> FetchPredicate) -> MemberRequest {
    changed { $0.filter(condition) }
  }

  /// Returns the request with a further, less significant criterion of order: an attribute of the members.
  ///
  /// - Parameters:
  ///   - options: Differences between texts to ignore. Only for attributes of type string.
  ///   - missingValues: The place of members without a value.
  public func sort<Value>(
    _ attribute: KeyPath<Member.Properties, AttributeKey<Value>>, _ order: SortOrder = .forward,
    options: StringOptions = [], missingValues: MissingValuePlacement = .smallest
  ) -> MemberRequest {
    changed { $0.sort(attribute, order, options: options, missingValues: missingValues) }
  }

  /// Returns the request with a further, less significant criterion of order: an attribute over to-one relationships,
  /// a part of a composite, or an attribute of a subclass.
  ///
  /// - Parameters:
  ///   - options: Differences between texts to ignore. Only for attributes of type string.
  ///   - missingValues: The place of members without a value.
  @_disfavoredOverload
  public func sort<Value>(
    _ attribute: KeyPath<QueryScope<Member>, QueryAttribute<Value>>, _ order: SortOrder = .forward,
    options: StringOptions = [], missingValues: MissingValuePlacement = .smallest
  ) -> MemberRequest {
    changed { $0.sort(attribute, order, options: options, missingValues: missingValues) }
  }
}
