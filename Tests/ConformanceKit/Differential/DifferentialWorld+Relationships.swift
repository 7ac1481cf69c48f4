import CoherenceCore

extension DifferentialWorld {
  /// Runs a step that changes a relationship, and returns the relationship's new value, or the errors that an accessor
  /// reported.
  func changeRelationship(_ action: DifferentialOperation.Action, _ index: Int) throws -> DifferentialOutcome {
    switch action {
    case .relate(let name, let relationship, let target):
      let owner = try object(name, index)
      try owner.setObject(try target.map { try object($0, index) }, for: relationship)
      return DifferentialOutcome(DifferentialText.text(try owner.value(for: relationship), name: self.name))
    case .replaceMembers(let name, let relationship, let members):
      let owner = try object(name, index)
      try owner.setObjects(try members.map { try object($0, index) }, for: relationship)
      return DifferentialOutcome(members: try owner.objects(for: relationship), self)
    case .addMember(let name, let relationship, let member, let place):
      return try change(name, relationship, index) { owner, isOrdered in
        let member = try object(member, index)
        if isOrdered {
          let members = owner[OrderedToManyKey<ManagedObject>(relationship)]
          place.map { members.insert(member, at: $0) } ?? members.append(member)
        } else {
          owner[ToManyKey<ManagedObject>(relationship)].insert(member)
        }
      }
    case .removeMember(let name, let relationship, let member):
      return try change(name, relationship, index) { owner, _ in
        owner[ToManyKey<ManagedObject>(relationship)].remove(try object(member, index))
      }
    case .moveMember(let name, let relationship, let from, let to):
      return try change(name, relationship, index) { owner, isOrdered in
        let members = owner[OrderedToManyKey<ManagedObject>(relationship)]
        if isOrdered, from < members.count { members.move(from: from, to: to) }
      }
    default: return DifferentialOutcome("done")
    }
  }

  /// Changes a to-many relationship by its accessor, which reports errors on the context.
  private func change(
    _ name: String, _ relationship: String, _ index: Int, _ body: (ManagedObject, Bool) throws -> Void
  ) throws -> DifferentialOutcome {
    let owner = try object(name, index)
    try body(owner, owner.entity.relationship(named: relationship)?.isOrdered == true)
    var outcome = reported(for: owner, in: contexts[index])
    if outcome.codes.isEmpty { outcome = DifferentialOutcome(members: try owner.objects(for: relationship), self) }
    return outcome
  }

  // MARK: Reading

  /// Describes all values of an object. The object is loaded first, because stores may load faults at different times.
  func describe(_ object: ManagedObject) -> String {
    try? object.load()
    var parts = ["\(object.entity.name) version \(DifferentialOutcome.version(object.version))"]
    for property in object.entity.properties {
      do {
        parts.append("\(property.name): \(try text(of: property, object))")
      } catch {
        parts.append("\(property.name): \(DifferentialOutcome(error, name: name).text)")
      }
    }
    return parts.joined(separator: ", ")
  }

  private func text(of property: PropertyDescription, _ object: ManagedObject) throws -> String {
    guard let relationship = property as? RelationshipDescription, relationship.isToMany else {
      return DifferentialText.text(try object.value(for: property.name), name: name)
    }
    return DifferentialOutcome(members: try object.objects(for: property.name), self).text
  }

  /// Describes every record as a new context reads it, by the name of its object.
  func dump() throws -> [String] {
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    return try context.performAndWait {
      try model.entities.filter { $0.superentity == nil }.flatMap { entity in
        let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: entity.name))
        return objects.map { "\(name($0.objectID)): \(describe($0))" }
      }
    }
  }
}

extension DifferentialOutcome {
  init(members: [ManagedObject], _ world: DifferentialWorld) { self.init(members.map { world.name($0.objectID) }) }
}
