/// The derived values to compute after the steps of a save, in records of one entity whose values depend on the written
/// records; see ``RelationshipDerivation``.
///
/// The update names the owners of the values by key, or by routes from the changed records, which a store follows in
/// the transaction of the save.
public struct DerivationUpdate: Sendable {
  /// A route from changed records back to the owners of derived values.
  public enum Route: Sendable, Hashable {
    /// The owners from which a path of to-one relationships leads to a changed record.
    case path([RelationshipDescription])
    /// The owners with a changed record among the members of a to-many relationship.
    case members(RelationshipDescription)
  }

  /// The entity that declares the derived attributes.
  public let entity: EntityDescription
  /// The attributes to compute. Each owner gets all of them.
  public private(set) var derivations: [RelationshipDerivation] = []
  /// The keys of owners. Keys of missing records are skipped.
  public private(set) var owners: Set<Int64> = []
  /// The keys of changed records, by the route to further owners. The routes are followed after the steps of the save.
  /// A reference to a missing record leads to its owner too.
  public private(set) var routes: [Route: Set<Int64>] = [:]

  /// Makes an update without attributes and owners.
  public init(of entity: EntityDescription) { self.entity = entity }

  /// Adds an attribute to compute.
  public mutating func add(_ derivation: RelationshipDerivation) {
    if !derivations.contains(derivation) { derivations.append(derivation) }
  }

  /// Adds owners, by their keys.
  public mutating func add(owners keys: some Sequence<Int64>, of derivation: RelationshipDerivation) {
    add(derivation)
    owners.formUnion(keys)
  }

  /// Adds the owners to which a route leads from records, by the keys of the records.
  public mutating func add(_ keys: some Sequence<Int64>, by route: Route, of derivation: RelationshipDerivation) {
    add(derivation)
    routes[route, default: []].formUnion(keys)
  }

  /// The error for a sum out of the range of its type, for stores whose engine reports such a sum.
  public var overflow: CoherenceError {
    let sums = derivations.filter { if case .members(.sum, _, _) = $0.rule { true } else { false } }
    return RelationshipDerivation.overflow(of: (sums.isEmpty ? derivations : sums).map(\.attribute))
  }

  /// The slots of the attributes.
  public var slots: SlotSet { SlotSet(derivations.lazy.map(\.attribute.slot)) }
}

/// The records after the steps of a save, from which ``DerivationUpdate/values(of:in:)`` computes derived values. For
/// stores whose engine does not compute them.
public protocol DerivationSource: RecordSource where Record == Row {
  /// Returns the row of a record; `nil` for a missing record.
  func record(_ key: Int64, of root: EntityDescription) throws -> Row?
  /// Returns the records whose to-one relationship refers to one of the keys, whether or not such a record exists.
  func referrers(to keys: Set<Int64>, by relationship: RelationshipDescription) throws -> [Row]
  /// Returns the keys of the owners with a member of one of the keys in a to-many relationship.
  func owners(of members: Set<Int64>, by relationship: RelationshipDescription) throws -> Set<Int64>
}

extension DerivationUpdate {
  /// Returns the owners, each once, by ascending key. Reads the referring records of each route, and every owner once.
  ///
  /// - Throws: Errors of the source.
  public func owners(in source: some DerivationSource) throws -> [Row] {
    var keys = owners
    for (route, ends) in routes {
      switch route {
      case .members(let relationship): keys.formUnion(try source.owners(of: ends, by: relationship))
      case .path(let steps):
        var reached = ends
        for step in steps.reversed() where !reached.isEmpty {
          reached = Set(try source.referrers(to: reached, by: step).map(\.key))
        }
        keys.formUnion(reached)
      }
    }
    return try keys.sorted().compactMap { try source.record($0, of: entity.root) }
      .filter { $0.entity.isKind(of: entity) }
  }

  /// Computes the derived values of an owner, by slot.
  ///
  /// - Throws: ``ErrorCode/arithmeticOverflow`` for a sum out of the range of its type; errors of the source.
  public func values(of owner: Row, in source: some DerivationSource) throws -> [Int: AttributeValue] {
    var values: [Int: AttributeValue] = [:]
    for derivation in derivations { values[derivation.attribute.slot] = try derivation.value(of: owner, in: source) }
    return values
  }
}

extension RelationshipDerivation {
  fileprivate func value<Source: DerivationSource>(of owner: Row, in source: Source) throws -> AttributeValue {
    switch rule {
    case .path(let steps, let attribute):
      var record = owner
      for step in steps {
        guard let next = try source.target(of: step, from: record) else { return .null }
        record = next
      }
      return record.value(of: attribute)
    case .count(let relationship): return .int(Int64(try source.memberCount(of: relationship, from: owner)))
    case .members(let function, let relationship, let attribute):
      let values = try source.members(of: relationship, from: owner).map { $0.value(of: attribute) }
      return try checked(function.value(of: values.filter { !$0.isNull }, attribute.type.storage))
    }
  }

  /// Throws for a sum of integers or decimals out of the range of its type, which an accumulator returns as a double.
  private func checked(_ value: AttributeValue) throws -> AttributeValue {
    switch (value, attribute.type.storage) {
    case (.double, .int64), (.double, .decimal): throw Self.overflow(of: [attribute])
    default: return value
    }
  }

  fileprivate static func overflow(of attributes: [AttributeDescription]) -> CoherenceError {
    let names = attributes.map { "'\($0.entity.name).\($0.name)'" }.joined(separator: ", ")
    return CoherenceError(
      .arithmeticOverflow,
      "The derived value of \(names) would be out of the range of its type; save smaller values, or derive the attribute "
        + "in another way.")
  }
}

extension RelationshipDerivation.Function {
  fileprivate func value(of values: [AttributeValue], _ storage: StorageType) -> AttributeValue {
    func result(_ function: AggregateFunction) -> AttributeValue {
      var accumulator = Accumulator(function, of: storage)
      for value in values { accumulator.add(value) }
      return accumulator.result
    }
    switch self {
    case .sum: return result(.sum)
    case .minimum: return result(.minimum)
    case .maximum: return result(.maximum)
    case .average: return .average(sum: result(.sum), count: .int(Int64(values.count)))
    }
  }
}

extension Row {
  /// The value of an attribute; missing in a record of an entity without it.
  fileprivate func value(of attribute: AttributeDescription) -> AttributeValue {
    entity.isKind(of: attribute.entity) ? self[attribute.slot] : .null
  }
}
