import CoherenceCore

/// Finds the records of one entity by what tells them apart.
struct MergeFinder {
  /// The most keys in one fetch.
  private static let chunkSize = 500

  let context: ActionContext
  let entity: EntityDescription
  let keyAttributes: [AttributeDescription]

  /// The attributes of the key, for messages.
  var keyNames: String { keyAttributes.map { "'\($0.name)'" }.joined(separator: ", ") }

  func key(of object: ManagedObject) throws -> MergeKey {
    MergeKey(values: try keyAttributes.map { try object.value(for: $0.name) })
  }

  /// The records that a merge may delete.
  func all(where filter: FetchPredicate?, _ scope: MergeScope) throws -> [ManagedObject] {
    var request = FetchRequest<ManagedObject>(entityName: entity.name)
    request.predicate = filter
    request.includesSubentities = scope.options.includesSubentities
    return try context.fetch(request)
  }

  /// The records that have one of some keys, the first of those that have the same.
  func objects(with keys: [MergeKey]) throws -> [MergeKey: ManagedObject] {
    var found: [MergeKey: ManagedObject] = [:]
    for chunk in Self.chunks(of: keys) {
      try context.refuseIfCanceled()
      let wanted = Set(chunk)
      for object in try context.fetch(request(for: chunk)) {
        let key = try key(of: object)
        if wanted.contains(key), found[key] == nil { found[key] = object }
      }
    }
    return found
  }

  /// More than the keys' records may come for a key of several attributes: those that combine values of several keys.
  private func request(for keys: [MergeKey]) -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: entity.name)
    request.predicate = .and(
      keyAttributes.enumerated().map { index, attribute in
        .membership(.path(PropertyPath(names: [attribute.name])), in: Array(Set(keys.map { $0.values[index] })))
      })
    return request
  }

  /// Those of some records that satisfy a predicate.
  func objects(among objects: Set<ManagedObject>, where predicate: FetchPredicate) throws -> Set<ManagedObject> {
    var found: Set<ManagedObject> = []
    for chunk in Self.chunks(of: objects.map(\.objectID)) {
      try context.refuseIfCanceled()
      var request = FetchRequest<ManagedObject>(entityName: entity.name)
      request.predicate = .and([.membership(.path(.own), in: chunk.map(AttributeValue.reference)), predicate])
      found.formUnion(try context.fetch(request))
    }
    return found
  }

  private static func chunks<Element>(of elements: [Element]) -> [[Element]] {
    stride(from: 0, to: elements.count, by: chunkSize).map { start in
      Array(elements[start..<min(start + chunkSize, elements.count)])
    }
  }
}
