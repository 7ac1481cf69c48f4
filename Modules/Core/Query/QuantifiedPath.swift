/// The path of a quantifier before the position of its to-many relationship is known.
///
/// Format text is ambiguous: in `ANY artist.albums.year > 1990` the members could be artists or albums. The entity
/// determines the to-many relationship.
struct QuantifiedPath {
  private let quantifier: FetchPredicate.Quantifier
  private let path: PropertyPath
  private let predicate: FetchPredicate

  init(_ quantifier: FetchPredicate.Quantifier, _ path: PropertyPath, _ predicate: FetchPredicate) {
    self.quantifier = quantifier
    self.path = path
    self.predicate = predicate
  }

  /// Returns the condition on the members of the to-many relationship, in resolved form.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``; ``ErrorCode/invalidPredicate`` for a path without a to-many relationship.
  func checked(by checker: PredicateChecker) throws(CoherenceError) -> FetchPredicate {
    try path.checkNames()
    let entity = try checker.start(of: path)
    if let (relationship, count) = Self.firstToMany(in: path.names, from: entity) {
      let memberNames = Array(path.names[count...])
      let condition =
        memberNames.isEmpty
        ? predicate : Self.nested(quantifier, memberNames, predicate, at: relationship.destination)
      return .quantified(
        quantifier, path.replacingNames(path.names[..<count]),
        try condition.resolved(by: checker.members(of: relationship)))
    }
    // The to-many relationship may be in the path at the beginning of the condition.
    guard let first = predicate.firstPath, !first.names.isEmpty, first.outerLevel == 0,
      let (relationship, count) = Self.firstToMany(in: path.names + first.names, from: entity)
    else {
      // An error for an unknown name takes precedence.
      _ = try ResolvedPath(path, from: entity)
      throw CoherenceError(
        .invalidPredicate, "'\(path)' leads to no to-many relationship; ANY, ALL and NONE are about members.")
    }
    let names = path.names + first.names
    let condition = predicate.replacingFirstPath(PropertyPath(names: Array(names[count...])))
    return .quantified(
      quantifier, path.replacingNames(names[..<count]), try condition.resolved(by: checker.members(of: relationship)))
  }

  /// Makes the condition on a member when the path continues after the member. The names after the member become a
  /// prefix of the condition. If they have another to-many relationship, the condition is on the members of that
  /// relationship.
  private static func nested(
    _ quantifier: FetchPredicate.Quantifier, _ names: [String], _ predicate: FetchPredicate,
    at entity: EntityDescription
  ) -> FetchPredicate {
    guard firstToMany(in: names, from: entity) != nil else { return predicate.prefixed(with: names) }
    // `NONE` over two relationships: no member has a member that satisfies the condition. A condition on members stands
    // between the inner condition and the records around both.
    let inner = predicate.mappingPaths { path, depth in path.outerLevel > depth ? path.outer() : path }
    return .quantified(quantifier == .none ? .any : quantifier, PropertyPath(names: names), inner)
  }

  /// The first to-many relationship in a path, and the number of names up to the relationship.
  private static func firstToMany(in names: [String], from entity: EntityDescription)
    -> (RelationshipDescription, Int)?
  {
    for count in names.indices.map({ $0 + 1 }) {
      let path = PropertyPath(names: Array(names[..<count]))
      if case .toMany(let relationship)? = try? ResolvedPath(path, from: entity).target { return (relationship, count) }
    }
    return nil
  }
}

extension FetchPredicate {
  /// The path of the first operand; `nil` for another condition than a comparison of a path. A condition may be negated,
  /// compare the path with each value of a list, or with the members at the end of another path.
  fileprivate var firstPath: PropertyPath? {
    switch self {
    case .comparison(.path(let path), _, _, _), .membership(.path(let path), _, _), .between(.path(let path), _, _),
      .list(.path(let path), _, _, _):
      return path
    case .not(let part): return part.firstPath
    case .or(let parts):
      let path = parts.first?.firstPath
      return parts.allSatisfy { $0.firstPath == path } ? path : nil
    // As the format text `path IN other` is read.
    case .quantified(.any, _, .comparison(.path(.own), .equal, .path(let path), _)) where path.outerLevel > 0:
      return PropertyPath(names: path.names, outerLevel: path.outerLevel - 1)
    default: return nil
    }
  }

  /// Returns the condition with another path as its first operand.
  fileprivate func replacingFirstPath(_ path: PropertyPath) -> FetchPredicate {
    switch self {
    case .comparison(.path, let comparison, let right, let options):
      .comparison(.path(path), comparison, right, options)
    case .membership(.path, let values, let options): .membership(.path(path), in: values, options)
    case .between(.path, let lower, let upper): .between(.path(path), lower, upper)
    case .list(.path, let relation, let name, let options): .list(.path(path), relation, variable: name, options)
    case .not(let part): .not(part.replacingFirstPath(path))
    case .or(let parts): .or(parts.map { $0.replacingFirstPath(path) })
    case .quantified(let quantifier, let members, let part):
      .quantified(quantifier, members, part.replacingOperand(PropertyPath(names: path.names, outerLevel: 1)))
    default: self
    }
  }

  /// Returns the comparison with the members at the end of a path, with another path as its value.
  private func replacingOperand(_ path: PropertyPath) -> FetchPredicate {
    guard case .comparison(let member, let comparison, .path, let options) = self else { return self }
    return .comparison(member, comparison, .path(path), options)
  }

  /// Returns the condition with a prefix before each path from the record, for a record at the end of the prefix.
  fileprivate func prefixed(with names: [String]) -> FetchPredicate {
    mappingPaths { path, depth in path.outerLevel == depth ? path.replacingNames(names + path.names) : path }
  }
}
