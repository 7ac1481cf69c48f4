/// The relationships and weak references to load with a fetch, as a tree: `tracks` and `tracks.artist` share the step `tracks`.
struct PrefetchPaths: Sendable {
  /// A relationship or a weak reference, and the paths to load from its members or targets.
  struct Step: Sendable {
    let name: String
    let next: PrefetchPaths
  }

  private(set) var steps: [Step] = []
  /// The greatest number of relationships in a path. The loading recurses for each relationship.
  private static let greatestLength = 100

  /// - Throws: ``ErrorCode/unknownProperty`` for a name that no entity has, ``ErrorCode/invalidFetchRequest`` for an
  ///   attribute and for a path of too many relationships.
  init(_ paths: [String], of entity: EntityDescription) throws {
    let paths = paths.map(\.pathNames)
    guard paths.allSatisfy({ $0.count <= Self.greatestLength }) else {
      throw CoherenceError(
        .invalidFetchRequest,
        "A path to prefetch has more than \(Self.greatestLength) relationships; fetch the records at its end "
          + "with a request of their own."
      )
    }
    try self.init(paths[...], of: [entity])
  }

  /// - Parameter entities: The possible entities of the records at which the paths begin.
  private init(_ paths: ArraySlice<[String]>, of entities: [EntityDescription]) throws {
    // The paths after their first names, by first name.
    var remainders: [String: [[String]]] = [:]
    var names: [String] = []
    for path in paths {
      guard let first = path.first else { continue }
      if remainders[first] == nil { names.append(first) }
      remainders[first, default: []].append(Array(path.dropFirst()))
    }
    for name in names {
      let relationships = try Self.relationships(named: name, of: entities)
      let destinations = Array(Set(relationships.map(\.destination)))
      steps.append(Step(name: name, next: try PrefetchPaths(remainders[name, default: []][...], of: destinations)))
    }
  }

  /// The relationships of a name in entities and their subentities; none for a weak reference.
  private static func relationships(
    named name: String, of entities: [EntityDescription]
  ) throws -> [RelationshipDescription] {
    let concrete = entities.flatMap(\.concreteEntities)
    let properties = (entities + concrete).compactMap { try? $0.property(named: name) }
    guard !properties.isEmpty else {
      // The call throws the error that lists the existing properties.
      for entity in entities { _ = try entity.property(named: name) }
      return []
    }
    let relationships = properties.compactMap { $0 as? RelationshipDescription }
    guard !relationships.isEmpty || properties.contains(where: \.isWeakReference) else {
      throw CoherenceError(
        .invalidFetchRequest,
        "'\(entities[0].name).\(name)' is an attribute, which is loaded with its record; remove the path from "
          + "the relationships to prefetch.")
    }
    return relationships
  }
}

extension PropertyDescription {
  /// Whether the property is a weak reference, an attribute that refers to a record of any store.
  fileprivate var isWeakReference: Bool {
    (self as? AttributeDescription)?.type.isWeakReference == true
  }
}
