/// What to fetch: an entity, a condition, an order, and how much.
///
/// A request is a value; it can be made anywhere and used in any context.
public struct FetchRequest<Result: ManagedObject>: Sendable {
  /// The entity's name; `nil` when the entity is found by the class `Result`.
  public var entityName: String?
  public var predicate: FetchPredicate?
  /// The order. Records equal by it, and all records without it, come by key.
  public var sortKeys: [SortKey] = []
  /// The most records to return; `nil` for all, zero for none.
  public var fetchLimit: Int?
  /// How many records to leave out at the beginning.
  public var fetchOffset = 0
  /// Whether records of subentities are found too.
  public var includesSubentities = true
  /// Whether what the context and its parents have not saved is taken into account.
  public var includesPendingChanges = true
  /// Whether objects come without their values, to be loaded, all at once, when one of them is touched.
  public var returnsObjectsAsFaults = false
  /// Relationships whose members are loaded together with the records, and kept for the unit of work. A path such as
  /// `tracks.artist` continues from the members. A path unknown to all entities of the request is refused, and so is one
  /// of more than 100 relationships.
  public var relationshipsForPrefetching: [String] = []

  /// A request for all objects of the entity with the class.
  public init(_ type: Result.Type = Result.self) {}

  /// A request for all objects of an entity.
  public init(entityName: String) { self.entityName = entityName }
}

extension FetchRequest {
  /// The same request with a condition, which is added to the one it has.
  public func filter(_ predicate: FetchPredicate) -> FetchRequest {
    var request = self
    request.predicate = self.predicate.map { $0 && predicate } ?? predicate
    return request
  }

  /// The same request with one more criterion of order.
  public func sort(_ path: String, ascending: Bool = true, options: StringOptions = []) -> FetchRequest {
    var request = self
    request.sortKeys.append(SortKey(path, ascending: ascending, options: options))
    return request
  }

  /// The same request for at most so many records.
  public func limit(_ count: Int, offset: Int = 0) -> FetchRequest {
    var request = self
    request.fetchLimit = count
    request.fetchOffset = offset
    return request
  }
}

/// A change to make to all records of an entity that satisfy a predicate, in the store.
public struct BatchUpdateRequest: Sendable {
  public var entityName: String
  public var predicate: FetchPredicate?
  public var includesSubentities = true
  /// The new value of each attribute.
  public var values: [String: AttributeValue]

  public init(entityName: String, predicate: FetchPredicate? = nil, values: [String: (any AttributeConvertible)?]) {
    self.entityName = entityName
    self.predicate = predicate
    self.values = values.mapValues { $0?.attributeValue ?? .null }
  }
}

/// A delete of all records of an entity that satisfy a predicate, in the store. Delete rules are not applied, but
/// references and links to the records are cleared. Nothing is validated: required relationships and least numbers of
/// members may be left without what they need.
public struct BatchDeleteRequest: Sendable {
  public var entityName: String
  public var predicate: FetchPredicate?
  public var includesSubentities = true

  public init(entityName: String, predicate: FetchPredicate? = nil) {
    self.entityName = entityName
    self.predicate = predicate
  }
}
