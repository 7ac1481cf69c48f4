import CoherenceCore

// The refusals of models that a store cannot be opened with.

extension SchemaChange {
  /// Refuses a store with entities, none of which the model shares.
  static func checkIsRelated(
    _ environment: StoreEnvironment, to stored: StoreState, as namedSchema: StoredSchema, location: String,
    elsewhere: String
  ) throws {
    let names = stored.schema.tables.flatMap(\.entities).map(\.name).sorted()
    guard !names.isEmpty, !environment.entities.contains(where: { namedSchema.shares($0) }) else { return }
    let models = stored.metadata.lastModel.map { " \($0)" } ?? " another model"
    throw CoherenceError(
      .incompatibleModel,
      "\(location) is the store of\(models), with the entities \(Self.list(names)); this model has none of them. "
        + "\(elsewhere)")
  }

  static func missing(at location: String) -> CoherenceError {
    CoherenceError(
      .notADatabase,
      "\(location) has no store, and the option '\(StoreOption.partialModel)' makes none; check the location.")
  }

  /// The refusal of a model that needs a change which the environment does not allow.
  static func refusal(
    _ stored: StoreMetadata, _ wanted: [String: String], _ environment: StoreEnvironment
  ) -> CoherenceError {
    if environment.isPartialModel {
      let names = wanted.keys.filter { stored.versionHashes[$0] != wanted[$0] }.sorted()
      return CoherenceError(
        .incompatibleModel,
        "The store does not have these entities as the model declares them: "
          + "\(list(names.isEmpty ? wanted.keys.sorted() : names)). The option '\(StoreOption.partialModel)' changes "
          + "no store; use the version of the program that the store was made with.")
    }
    let names = Set(stored.versionHashes.keys).union(wanted.keys)
      .filter { stored.versionHashes[$0] != wanted[$0] }.sorted()
    let advice =
      environment.isReadOnly
      ? "It was opened to read only; open it to write once, which adds what is missing and drops nothing."
      : "The option '\(StoreOption.migrateAutomatically)' adds what is missing and drops nothing; set it, or open the "
        + "store with its own model."
    return CoherenceError(
      .incompatibleModel, "The store differs from the model in: \(list(names)). \(advice)")
  }

  /// The first names of a list, and the number of the others.
  static func list(_ names: [String]) -> String {
    names.count > 12
      ? names.prefix(12).joined(separator: ", ") + " and \(names.count - 12) more" : names.joined(separator: ", ")
  }
}

extension StoredSchema {
  /// Whether the store has an entity: one of the name, with at least one property in common when both have any.
  fileprivate func shares(_ entity: EntityDescription) -> Bool {
    guard tables.contains(where: { $0.entities.contains { $0.name == entity.name } }) else { return false }
    var stored: [String] = []
    for column in tables.flatMap(\.columns) where column.entity == entity.name {
      stored += [column.slot] + (column.formerSlots ?? [])
    }
    for relationship in relationships where relationship.entity == entity.name {
      stored += [relationship.name] + (relationship.formerNames ?? [])
    }
    var own: [String] = []
    for property in entity.properties where property.entity === entity {
      own += [property.name] + property.formerNames
    }
    return stored.isEmpty || own.isEmpty || !Set(stored).isDisjoint(with: own)
  }
}
