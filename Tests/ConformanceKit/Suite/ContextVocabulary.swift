import CoherenceCore

// The few phrases in which cases are written.

extension ManagedObjectContext {
  /// Inserts an object and fills in its attributes.
  @discardableResult
  func make(_ entity: String, _ values: [String: any AttributeConvertible] = [:]) throws -> ManagedObject {
    let object = try insertNewObject(forEntityName: entity)
    for (name, value) in values { try object.setValue(value, for: name) }
    return object
  }

  /// Returns the objects that satisfy a condition.
  func all(_ entity: String, where predicate: FetchPredicate? = nil, sort: [SortKey] = []) throws -> [ManagedObject] {
    var request = FetchRequest<ManagedObject>(entityName: entity)
    request.predicate = predicate
    request.sortKeys = sort
    return try fetch(request)
  }

  /// Returns the only object that satisfies a condition.
  func one(
    _ entity: String, where predicate: FetchPredicate? = nil, file: StaticString = #fileID, line: UInt = #line
  ) throws -> ManagedObject {
    let found = try all(entity, where: predicate)
    guard found.count == 1 else {
      throw ConformanceFailure("expected one '\(entity)', found \(found.count)", file: file, line: line)
    }
    return found[0]
  }

  /// Counts the objects that satisfy a condition.
  func number(of entity: String, where predicate: FetchPredicate? = nil) throws -> Int {
    var request = FetchRequest<ManagedObject>(entityName: entity)
    request.predicate = predicate
    return try count(for: request)
  }

  /// The names of the objects that satisfy a condition, sorted by the request, or by themselves.
  func names(_ entity: String, where predicate: FetchPredicate? = nil, sort: [SortKey] = []) throws -> [String] {
    let names = try all(entity, where: predicate, sort: sort).map { try $0.label }
    return sort.isEmpty ? names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } : names
  }

  /// The object of an identifier, as an object of its class.
  func existing<O: ManagedObject>(_ id: ManagedObjectID, as type: O.Type = O.self) throws -> O {
    try unwrap(try existingObject(with: id) as? O, "an object of class \(type)")
  }
}

extension ManagedObject {
  /// The text that identifies the object: its title or its name.
  var label: String {
    get throws {
      let name = ["title", "name"].first { entity.attribute(named: $0) != nil }
      return try value(for: try unwrap(name, "a title or a name"), as: String?.self) ?? ""
    }
  }

  /// The labels of the members of a to-many relationship, in its order if it has one.
  func labels(of relationship: String) throws -> [String] {
    let labels = try objects(for: relationship).map { try $0.label }
    return entity.relationship(named: relationship)?.isOrdered == true ? labels : labels.sorted()
  }
}

// MARK: - Predicates

func compare(
  _ path: String, _ operation: ComparisonOperator, _ value: (any AttributeConvertible)?, _ options: StringOptions = []
) -> FetchPredicate {
  .comparison(.path(PropertyPath(path)), operation, .value(value?.attributeValue ?? .null), options)
}

func equal(_ path: String, _ value: (any AttributeConvertible)?) -> FetchPredicate { compare(path, .equal, value) }

func among(_ path: String, _ values: [(any AttributeConvertible)?], _ options: StringOptions = []) -> FetchPredicate {
  .membership(.path(PropertyPath(path)), in: values.map { $0?.attributeValue ?? .null }, options)
}

func between(_ path: String, _ low: (any AttributeConvertible)?, _ high: (any AttributeConvertible)?)
  -> FetchPredicate
{
  .between(
    .path(PropertyPath(path)), .value(low?.attributeValue ?? .null), .value(high?.attributeValue ?? .null))
}

func memberCount(_ path: String, _ operation: ComparisonOperator, _ count: Int) -> FetchPredicate {
  .comparison(.count(PropertyPath(path)), operation, .value(.int(Int64(count))))
}

func members(_ quantifier: FetchPredicate.Quantifier, _ path: String, _ predicate: FetchPredicate) -> FetchPredicate {
  .quantified(quantifier, PropertyPath(path), predicate)
}

func refers(_ path: String, to id: ManagedObjectID) -> FetchPredicate {
  .comparison(.path(PropertyPath(path)), .equal, .value(.reference(id)))
}
