public import Foundation

/// A description of the records to fetch: entity, predicate, order and range.
///
/// A request is a value. It is made on any thread and used in any context; ``ManagedObjectContext/fetch(_:)`` and
/// ``ManagedObjectContext/count(for:)`` check its names.
///
/// ```swift
/// let request = FetchRequest(Album.self).filter { $0.year > 1990 }.sort(\.title).limit(20)
/// let albums = try context.fetch(request)
/// ```
///
/// Cost: a store reads no more records than the range needs when it can evaluate predicate and order itself. Otherwise
/// it reads every candidate, and the context evaluates the rest.
public struct FetchRequest<Result: ManagedObject>: Sendable {
  /// The name of the entity in the context's model; `nil` for the entity whose class is `Result`.
  public var entityName: String?
  /// The condition that records must satisfy; `nil` for all records of the entity.
  public var predicate: FetchPredicate?
  /// The criteria of order, the most significant first. Among records equal by all criteria, saved records come first,
  /// by key, and then inserted records in order of insertion.
  public var sortKeys: [SortKey] = []
  /// The greatest number of records to return; `nil` for all, zero for none. A fetch refuses a negative limit with
  /// ``ErrorCode/invalidFetchRequest``.
  public var fetchLimit: Int?
  /// The number of records to skip at the beginning of the order. A fetch refuses a negative offset with
  /// ``ErrorCode/invalidFetchRequest``.
  public var fetchOffset = 0
  /// Whether records of subentities are found too.
  public var includesSubentities = true
  /// Whether unsaved changes of the context and its parents decide which records are found. Without them, predicate and
  /// order see the stores' records; the objects of changed records still show their unsaved values.
  public var includesPendingChanges = true
  /// Whether new objects are faults, without values. The first access to one of them loads the values of 256 neighbours
  /// with one read. No effect where unsaved changes decide which records are found.
  public var returnsObjectsAsFaults = false
  /// The number of records that ``ManagedObjectContext/list(_:batchSize:)`` and ``FetchedResultsController`` load
  /// together, when one of them is used; zero for no batches. A fetch refuses a negative number with
  /// ``ErrorCode/invalidFetchRequest``.
  ///
  /// ``ManagedObjectContext/fetch(_:)`` returns an array of loaded objects for every number.
  public var fetchBatchSize = 0
  /// The paths of relationships whose members are loaded with the fetch, by a few reads for all records together, and
  /// retained for the unit of work. A path such as `tracks.artist` continues from the members. The name of a weak
  /// reference stands for a relationship.
  ///
  /// A fetch refuses an unknown path with ``ErrorCode/unknownProperty``, and a path of more than 100 relationships or
  /// to an attribute with ``ErrorCode/invalidFetchRequest``.
  public var relationshipsForPrefetching: [String] = []
  /// Whether the saved records of read-only stores are found too. Without them, a request finds saved records that the
  /// caller can change.
  package var includesReadOnlyStores = true
  /// The stores whose saved records are found; `nil` for all stores with the entity. A failure of another store does not
  /// fail the request.
  package var storeIdentifiers: Set<StoreIdentifier>?

  /// Makes a request for all objects of the entity whose class is `type`.
  public init(_ type: Result.Type = Result.self) {}

  /// Makes a request for all objects of an entity. The objects of the entity must be of class `Result`.
  public init(entityName: String) { self.entityName = entityName }
}

extension FetchRequest {
  /// Returns the request with a further condition: records must satisfy both.
  public func filter(_ predicate: FetchPredicate) -> FetchRequest {
    var request = self
    request.predicate = self.predicate.map { $0 && predicate } ?? predicate
    return request
  }

  /// Returns the request without the saved records of read-only stores, for a caller that changes the found records.
  package func inWritableStores() -> FetchRequest {
    var request = self
    request.includesReadOnlyStores = false
    return request
  }

  /// Returns the request for the saved records of some stores.
  package func inStores(_ identifiers: Set<StoreIdentifier>) -> FetchRequest {
    var request = self
    request.storeIdentifiers = identifiers
    return request
  }

  /// Returns the request with a further, less significant criterion of order.
  ///
  /// - Parameters:
  ///   - path: An attribute, or a path to an attribute over to-one relationships, with names separated by dots.
  ///   - options: Differences between texts to ignore. Only for attributes of type string.
  ///   - missingValues: The place of records without a value.
  public func sort(
    _ path: String, _ order: SortOrder = .forward, options: StringOptions = [],
    missingValues: MissingValuePlacement = .smallest
  ) -> FetchRequest {
    sorted(by: SortKey(path, order, options: options, missingValues: missingValues))
  }

  /// Returns the request with a range, in place of its limit and offset.
  ///
  /// - Parameters:
  ///   - count: The greatest number of records to return.
  ///   - offset: The number of records to skip at the beginning.
  public func limit(_ count: Int, offset: Int = 0) -> FetchRequest {
    var request = self
    request.fetchLimit = count
    request.fetchOffset = offset
    return request
  }

  /// Returns the request with a number of records to load together, in place of its ``fetchBatchSize``.
  public func batchSize(_ count: Int) -> FetchRequest {
    var request = self
    request.fetchBatchSize = count
    return request
  }
}
