extension ManagedObjectModel {
  /// Returns a model with further entities, which belong to every configuration.
  ///
  /// For modules that keep records of their own in the stores of a program. The function skips an entity if the model
  /// already has an entity with the same name and class. A model with all of the entities is returned itself.
  ///
  /// - Throws: ``ErrorCode/invalidModel`` when the model has another entity of the same name, and for problems of the
  ///   declarations.
  package func adding(_ additions: [Entity]) throws -> ManagedObjectModel {
    let missing = try additions.filter { addition in
      guard let present = entitiesByName[addition.name] else { return true }
      guard present.objectClass == addition.objectClass else {
        throw CoherenceError(
          .invalidModel,
          "The model has an entity '\(addition.name)' of its own, which is a name of the framework; rename the entity.")
      }
      return false
    }
    guard !missing.isEmpty else { return self }
    let names = missing.map(\.name)
    return try ManagedObjectModel(
      notes: notes, name: name, entities: declarations + missing,
      configurations: entitiesByConfiguration.mapValues { $0.map(\.name) + names },
      versionIdentifiers: versionIdentifiers)
  }
}
