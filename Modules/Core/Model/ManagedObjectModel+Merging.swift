extension ManagedObjectModel {
  /// Builds a model with the entities of several models, such as the models of the modules of a program.
  ///
  /// An entity that several models have with one class and one version hash is one entity, by the declaration of the
  /// first of them. A configuration has the entities that any of the models gives it, and the merged model has all
  /// version identifiers. A relationship between entities of two models is declared in a model that has both entities.
  ///
  /// - Parameter name: The name of the merged model.
  /// - Throws: ``ErrorCode/invalidModel`` when two models have different entities of one name, and for problems of the
  ///   declarations as a whole.
  public convenience init(merging models: [ManagedObjectModel], name: String? = nil) throws {
    var declarations: [Entity] = []
    var merged: [String: EntityDescription] = [:]
    var configurations: [String: [String]] = [:]
    for model in models {
      for declaration in model.declarations {
        guard let entity = model.entitiesByName[declaration.name] else { continue }
        if let present = merged[entity.name] {
          guard present == entity, present.objectClass == entity.objectClass else {
            throw CoherenceError(
              .invalidModel,
              "Two models have different entities '\(entity.name)'; rename one, or declare the entity in one of the "
                + "models.")
          }
        } else {
          merged[entity.name] = entity
          declarations.append(declaration)
        }
      }
      configurations.merge(model.entitiesByConfiguration.mapValues { $0.map(\.name) }) { Array(Set($0 + $1)) }
    }
    try self.init(
      notes: models.flatMap(\.notes), name: name, entities: declarations, configurations: configurations,
      versionIdentifiers: models.reduce(into: []) { $0.formUnion($1.versionIdentifiers) })
  }
}
