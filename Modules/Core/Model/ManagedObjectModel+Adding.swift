extension ManagedObjectModel {
  /// Returns a model with further entities, which belong to every configuration. For modules that keep records of their
  /// own in the stores of users.
  ///
  /// Adding is idempotent: a declaration is passed over when this model has an entity of its name with the same class,
  /// and the result is this model itself when no declaration remains. The result has descriptions of its own, so that
  /// contexts and stores work with the result only.
  ///
  /// - Throws: ``ErrorCode/invalidModel``, naming every fault of the declarations; also when this model has an entity of
  ///   the same name with another class.
  package func adding(_ entities: [Entity]) throws -> ManagedObjectModel {
    let missing = entities.filter { entitiesByName[$0.name]?.objectClass != $0.objectClass }
    guard !missing.isEmpty else { return self }
    let added = entities.map(\.name)
    return try ManagedObjectModel(
      notes: notes, name: name, entities: declarations + missing,
      configurations: members.mapValues { $0.map(\.name).filter { !added.contains($0) } + added },
      versionIdentifiers: versionIdentifiers)
  }
}
