import CoherenceCore

/// Checks the model's constraints by reading the whole notebook. A database uses indexes instead.
struct NotebookProof {
  let content: NotebookContent
  let environment: StoreEnvironment
  let spaces: IDSpaces

  /// - Throws: ``ErrorCode/uniquenessViolated`` or else ``ErrorCode/danglingReference``, with the records concerned.
  func check() throws {
    for entity in environment.entities { try checkUniqueness(of: entity) }
    for relationship in environment.entities.flatMap(\.relationships) where relationship.isConstrained {
      try checkTargets(of: relationship)
    }
    for table in environment.linkTables { try checkEnds(of: table) }
  }

  /// The records of an entity, its subentities' included, by key.
  private func notes(of entity: EntityDescription) -> [(key: Int64, note: NotebookContent.Note)] {
    let names = Set(entity.hierarchy.map(\.name))
    return content.notes[entity.root.name, default: [:]].filter { names.contains($0.value.entity) }
      .sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private func checkUniqueness(of entity: EntityDescription) throws {
    for properties in entity.uniquenessConstraints {
      let names = properties.map(\.name)
      var holders: [[AttributeValue]: Int64] = [:]
      for (key, note) in notes(of: entity) {
        // Records with a missing value are not compared.
        let values = names.compactMap { note.values[$0] }
        guard values.count == names.count, let other = holders.updateValue(key, forKey: values) else { continue }
        throw fault(
          .uniquenessViolated, "Two records of '\(entity.name)' would be equal in \(names.joined(separator: ", ")).",
          [id(key, entity), id(other, entity)])
      }
    }
  }

  private func checkTargets(of relationship: RelationshipDescription) throws {
    for (key, note) in notes(of: relationship.entity) {
      guard case .int(let target)? = note.values[relationship.name],
        content[relationship.destination, target] == nil
      else { continue }
      throw dangling(relationship, id(key, relationship.entity), id(target, relationship.destination))
    }
  }

  private func checkEnds(of table: LinkTable) throws {
    for link in content.links[table.name, default: [:]].values {
      let (source, target) = (id(link.source, table.sourceRoot), id(link.target, table.targetRoot))
      if content[table.targetRoot, link.target] == nil { throw dangling(table.forward, source, target) }
      if content[table.sourceRoot, link.source] == nil { throw dangling(table.forward, target, source) }
    }
  }

  private func dangling(
    _ relationship: RelationshipDescription, _ present: ManagedObjectID, _ missing: ManagedObjectID
  ) -> CoherenceError {
    fault(
      .danglingReference,
      "'\(relationship.entity.name).\(relationship.name)' would lead to a record that does not exist any more.",
      [present, missing])
  }

  private func fault(_ code: ErrorCode, _ message: String, _ ids: [ManagedObjectID]) -> CoherenceError {
    var error = CoherenceError(code, message + " Refresh the objects concerned, change them, and save again.")
    error.objectIDs = ids
    return error
  }

  private func id(_ key: Int64, _ entity: EntityDescription) -> ManagedObjectID {
    ManagedObjectID(space: spaces[entity], key: key)
  }
}

extension NotebookContent {
  /// The number of members that an owner has in a to-many relationship.
  func memberCount(of relationship: RelationshipDescription, _ owner: Int64) -> Int {
    switch relationship.storage {
    case .column:
      return 0
    case .inverseColumn(let inverse, _):
      // Other entities of the hierarchy may have a property of that name.
      let entities = Set(inverse.entity.hierarchy.map(\.name))
      return notes[inverse.entity.root.name, default: [:]].values.count { note in
        entities.contains(note.entity) && note.values[inverse.name] == .int(owner)
      }
    case .links(let table, let isForward):
      return links[table.name, default: [:]].keys.count { (isForward ? $0.source : $0.target) == owner }
    }
  }
}
