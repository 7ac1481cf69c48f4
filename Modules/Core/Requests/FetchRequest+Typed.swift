public import Foundation

// MARK: - Conditions

extension FetchRequest where Result: DeclaredEntity {
  /// Returns the request with a further condition: records must satisfy both.
  public func filter(_ condition: (QueryScope<Result>) -> FetchPredicate) -> FetchRequest {
    filter(.typed(condition))
  }

  /// Returns the request with a further condition, a predicate of Foundation: records must satisfy both.
  ///
  /// - Throws: ``ErrorCode/invalidPredicate``, naming the unsupported part.
  public func filter(_ predicate: Foundation.Predicate<Result>) throws -> FetchRequest {
    filter(try FetchPredicate(predicate))
  }
}

// MARK: - Order

extension FetchRequest {
  /// Returns the request with a further, less significant criterion of order.
  func sorted(by key: SortKey) -> FetchRequest {
    var request = self
    request.sortKeys.append(key)
    return request
  }
}

extension FetchRequest where Result: DeclaredEntity {
  /// Returns the request with a further, less significant criterion of order: an attribute of the records.
  ///
  /// - Parameters:
  ///   - options: Differences between texts to ignore. Only for attributes of type string.
  ///   - missingValues: The place of records without a value.
  public func sort<Value>(
    _ attribute: KeyPath<Result.Properties, AttributeKey<Value>>, _ order: SortOrder = .forward,
    options: StringOptions = [], missingValues: MissingValuePlacement = .smallest
  ) -> FetchRequest {
    let name = Result.Properties.table[keyPath: attribute].name
    return sorted(by: SortKey(name, order, options: options, missingValues: missingValues))
  }

  /// Returns the request with a further, less significant criterion of order: an attribute over to-one relationships,
  /// such as `\.artist.name`, a part of a composite, such as `\.size.width`, an attribute of a subclass, or the number
  /// of members of a to-many relationship, such as `\.tracks.count`.
  ///
  /// - Parameters:
  ///   - options: Differences between texts to ignore. Only for attributes of type string.
  ///   - missingValues: The place of records without a value.
  @_disfavoredOverload
  public func sort<Value>(
    _ attribute: KeyPath<QueryScope<Result>, QueryAttribute<Value>>, _ order: SortOrder = .forward,
    options: StringOptions = [], missingValues: MissingValuePlacement = .smallest
  ) -> FetchRequest {
    let path = QueryScope<Result>()[keyPath: attribute].path
    return sorted(by: SortKey(path, order, options: options, missingValues: missingValues))
  }

  /// Returns the request with a further, less significant criterion of order: a value computed from the members of a
  /// to-many relationship.
  ///
  /// ```swift
  /// FetchRequest(Album.self).sort(.reverse) { $0.tracks.sum(\.length) }
  /// ```
  ///
  /// - Parameter missingValues: The place of records without a value.
  public func sort<Value>(
    _ order: SortOrder = .forward, missingValues: MissingValuePlacement = .smallest,
    by value: (QueryScope<Result>) -> QueryAttribute<Value>
  ) -> FetchRequest {
    sorted(by: SortKey(value(QueryScope()).path, order, missingValues: missingValues))
  }

  /// Returns the request with further, less significant criteria of order: sort descriptors of Foundation with a key
  /// path. Their comparators are ignored, because the order of a comparator depends on a locale.
  ///
  /// - Throws: ``ErrorCode/invalidFetchRequest`` when a descriptor has no key path.
  public func sort(_ descriptors: [SortDescriptor<Result>], options: StringOptions = []) throws -> FetchRequest {
    try descriptors.reduce(self) { $0.sorted(by: try SortKey($1, options: options)) }
  }
}

// MARK: - Relationships to load

extension FetchRequest {
  /// Returns the request with a further path of relationships to load with the fetch, with names separated by dots.
  /// See ``relationshipsForPrefetching``.
  public func prefetch(_ path: String) -> FetchRequest {
    var request = self
    request.relationshipsForPrefetching.append(path)
    return request
  }
}

extension FetchRequest where Result: DeclaredEntity {
  /// Returns the request with a further path of relationships to load with the fetch, such as `\.albums.tracks`. See
  /// ``relationshipsForPrefetching``.
  public func prefetch<Target>(
    _ path: KeyPath<RelationshipPath<Result>, RelationshipPath<Target>>
  ) -> FetchRequest {
    prefetch(RelationshipPath<Result>(names: [])[keyPath: path].names.joined(separator: "."))
  }
}
