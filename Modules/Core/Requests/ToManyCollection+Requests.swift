public import Foundation

// Requests for the members. Both collections have the same functions.

extension ToMany {
  /// A request for the members, to be narrowed by conditions, an order and a range.
  public var request: MemberRequest<Element> { MemberRequest(members) }

  /// The member with the least key, unsaved members last; `nil` without members. Loads no other member. Fails as all
  /// accessors do.
  public var first: Element? { members.attempt(nil) { _ in try request.first() } }

  /// Returns members in an order, found by the store.
  ///
  /// - Parameters:
  ///   - keys: The criteria of order, the most significant first. Without criteria, saved members come first, by key.
  ///   - limit: The greatest number of members; `nil` for all.
  ///   - offset: The number of members to skip.
  /// - Throws: As ``MemberRequest/fetch()``.
  public func fetch(sortedBy keys: [SortKey] = [], limit: Int? = nil, offset: Int = 0) throws -> [Element] {
    try request.sort(keys).limit(limit, offset: offset).fetch()
  }

  /// Returns the first members in an order, found by the store.
  ///
  /// - Throws: As ``MemberRequest/fetch()``.
  public func first(_ count: Int, sortedBy keys: [SortKey] = []) throws -> [Element] {
    try fetch(sortedBy: keys, limit: count)
  }
}

extension OrderedToMany {
  /// A request for the members, to be narrowed by conditions, an order and a range.
  public var request: MemberRequest<Element> { MemberRequest(members) }

  /// The first member of the list; `nil` without members. Loads no other member. Fails as all accessors do.
  public var first: Element? { members.attempt(nil) { _ in try request.first() } }

  /// Returns members in an order, found by the store.
  ///
  /// - Parameters:
  ///   - keys: The criteria of order, the most significant first. Without criteria, the order is the list's.
  ///   - limit: The greatest number of members; `nil` for all.
  ///   - offset: The number of members to skip.
  /// - Throws: As ``MemberRequest/fetch()``.
  public func fetch(sortedBy keys: [SortKey] = [], limit: Int? = nil, offset: Int = 0) throws -> [Element] {
    try request.sort(keys).limit(limit, offset: offset).fetch()
  }

  /// Returns the first members in an order, found by the store.
  ///
  /// - Throws: As ``MemberRequest/fetch()``.
  public func first(_ count: Int, sortedBy keys: [SortKey] = []) throws -> [Element] {
    try fetch(sortedBy: keys, limit: count)
  }
}

extension ToMany where Element: DeclaredEntity {
  /// Returns members ordered by an attribute, found by the store.
  ///
  /// - Throws: As ``MemberRequest/fetch()``.
  public func fetch<Value>(
    sortedBy attribute: KeyPath<Element.Properties, AttributeKey<Value>>, _ order: SortOrder = .forward,
    limit: Int? = nil, offset: Int = 0
  ) throws -> [Element] {
    try request.sort(attribute, order).limit(limit, offset: offset).fetch()
  }

  /// Returns the first members ordered by an attribute, found by the store.
  ///
  /// - Throws: As ``MemberRequest/fetch()``.
  public func first<Value>(
    _ count: Int, sortedBy attribute: KeyPath<Element.Properties, AttributeKey<Value>>, _ order: SortOrder = .forward
  ) throws -> [Element] {
    try fetch(sortedBy: attribute, order, limit: count)
  }
}

extension OrderedToMany where Element: DeclaredEntity {
  /// Returns members ordered by an attribute, found by the store.
  ///
  /// - Throws: As ``MemberRequest/fetch()``.
  public func fetch<Value>(
    sortedBy attribute: KeyPath<Element.Properties, AttributeKey<Value>>, _ order: SortOrder = .forward,
    limit: Int? = nil, offset: Int = 0
  ) throws -> [Element] {
    try request.sort(attribute, order).limit(limit, offset: offset).fetch()
  }

  /// Returns the first members ordered by an attribute, found by the store.
  ///
  /// - Throws: As ``MemberRequest/fetch()``.
  public func first<Value>(
    _ count: Int, sortedBy attribute: KeyPath<Element.Properties, AttributeKey<Value>>, _ order: SortOrder = .forward
  ) throws -> [Element] {
    try fetch(sortedBy: attribute, order, limit: count)
  }
}
