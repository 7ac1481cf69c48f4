/// Declares a fetched property: the result of a request that depends on the object.
///
/// ```swift
/// Entity("Album") {
///   Attribute("year", .int32)
///   FetchedProperty("older", of: "Album", where: "year < $FETCH_SOURCE.year", sortedBy: [SortKey("year")])
/// }
/// let older = try album.fetchedObjects(for: "older")
/// ```
/// `$FETCH_SOURCE` stands for the object. A path after the variable stands for a value of the object: an attribute, the
/// target of a to-one relationship, an attribute over to-one relationships, or, after `IN`, the members of a to-many
/// relationship. Other variables are only those that a `SUBQUERY` of the condition declares.
///
/// The property has no column and no inverse, and conditions cannot name it. Its entity may live in another store. A
/// class without a declaration in the model has fetched properties too, see ``FetchedKey``.
public struct FetchedProperty: ComputedPropertyDeclaration {
  /// The name, unique in the entity.
  public var name: String
  /// The name of the entity of the fetched records.
  public var destination: String
  /// The condition as format text with `$FETCH_SOURCE`; `nil` for all records.
  public var predicate: String? { didSet { condition = predicate.map { SourcedCondition($0) } } }
  /// The order of the records.
  public var sortKeys: [SortKey]
  /// The greatest number of records; `nil` for all.
  public var fetchLimit: Int?
  /// Whether records of subentities are found too.
  public var includesSubentities: Bool
  /// Texts of the application by key.
  public var userInfo: [String: String]
  private var condition: SourcedCondition?

  /// Makes a declaration.
  public init(
    _ name: String, of destination: String, where predicate: String? = nil, sortedBy sortKeys: [SortKey] = [],
    limit: Int? = nil, includesSubentities: Bool = true, userInfo: [String: String] = [:]
  ) {
    self.name = name
    self.destination = destination
    self.predicate = predicate
    self.sortKeys = sortKeys
    fetchLimit = limit
    self.includesSubentities = includesSubentities
    self.userInfo = userInfo
    condition = predicate.map { SourcedCondition($0) }
  }

  /// Makes the request for an object.
  ///
  /// - Throws: ``ErrorCode/invalidPredicate``; errors of loading the object's values.
  func request(for source: ManagedObject) throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: destination)
    request.predicate = try condition?.predicate(for: source)
    request.sortKeys = sortKeys
    request.fetchLimit = fetchLimit
    request.includesSubentities = includesSubentities
    return request
  }

  /// The problems of the condition's text, as the ends of sentences.
  package var conditionProblems: [String] { condition?.textProblems ?? [] }

  func problems(in owner: Entity, among entities: [String: Entity]) -> [String] {
    let path = "'\(owner.name).\(name)'"
    guard entities[destination] != nil else {
      return ["The fetched property \(path) is of '\(destination)', which the model does not have."]
    }
    return condition?.problems(in: owner, among: entities).map { "The fetched property \(path) \($0)." } ?? []
  }
}

extension EntityDescription {
  /// The fetched properties, inherited ones included, by name.
  public var fetchedProperties: [FetchedProperty] {
    computedProperties.values.compactMap { $0 as? FetchedProperty }.sorted { $0.name < $1.name }
  }

  /// The fetched property with a name.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``, listing the existing names.
  func fetchedProperty(named name: String) throws(CoherenceError) -> FetchedProperty {
    if let property = computedProperties[name] as? FetchedProperty { return property }
    let names = fetchedProperties.map(\.name).joined(separator: ", ")
    throw CoherenceError(
      .unknownProperty,
      "'\(self.name)' has no fetched property '\(name)'; it has: \(names.isEmpty ? "none" : names).")
  }
}
