import CoherenceCore

/// The error of a step about a missing object, in a shortened sequence: the shrinker has removed the step that inserts
/// the object.
struct UnknownObject: Error {}

extension DifferentialWorld {
  /// Runs a step.
  func run(_ operation: DifferentialOperation) -> DifferentialOutcome {
    let context = contexts[operation.context]
    let outcome = context.performAndWait { () -> DifferentialOutcome in
      var outcome: DifferentialOutcome
      do {
        outcome = try run(operation.action, operation.context)
      } catch is UnknownObject {
        outcome = DifferentialOutcome("skipped")
      } catch {
        outcome = DifferentialOutcome(error, name: name)
      }
      if context.hasChanges { outcome.text += " *" }
      return outcome
    }
    if operation.action.mayChangeOtherContexts { mergeSavesAndNoteIDs() }
    return outcome
  }

  private func run(_ action: DifferentialOperation.Action, _ index: Int) throws -> DifferentialOutcome {
    let context = contexts[index]
    switch action {
    case .insert(let name, let entity, let values): return try insert(name, entity, values, index)
    case .set(let name, let value):
      try object(name, index).setAttributeValue(value.value, for: value.property)
      return try read(value.property, of: name, index)
    case .read(let name): return DifferentialOutcome(describe(try object(name, index)))
    case .relate, .addMember, .removeMember, .replaceMembers, .moveMember: return try changeRelationship(action, index)
    case .delete(let name):
      context.delete(try object(name, index))
      return reported(for: try object(name, index), in: context)
    case .find(let name):
      guard let id = ids[name] else { throw UnknownObject() }
      let object = try context.existingObject(with: id)
      held[index][name] = object
      return DifferentialOutcome("\(self.name(object.objectID)) version \(DifferentialOutcome.version(object.version))")
    case .fetch, .count, .aggregate, .filter, .updateBatch, .deleteBatch: return try query(action, index)
    case .listPending: return pending(of: context)
    case .processPending: try context.processPendingChanges()
    case .save: try context.save()
    case .saveOrRollback: return saveOrRollback(context)
    case .rollback: context.rollback()
    case .refresh(let name, let keepingChanges):
      context.refresh(try object(name, index), mergeChanges: keepingChanges)
    case .refreshAll: context.refreshAll()
    case .reset:
      context.reset()
      held[index] = [:]
    case .mergeChanges(let other):
      guard let changes = lastChanges(of: other) else { throw UnknownObject() }
      context.mergeChanges(fromContextDidSave: changes)
    case .obtainPermanentIDs(let names):
      try context.obtainPermanentIDs(for: try names.map { try object($0, index) })
    case .choosePolicy(let choice): context.mergePolicy = choice.policy
    }
    return DifferentialOutcome("done")
  }

  // MARK: Objects

  /// Returns the object of a name in a context: the object of an earlier step, or the object of the record.
  func object(_ name: String, _ index: Int) throws -> ManagedObject {
    if let object = held[index][name] { return object }
    guard let id = ids[name] else { throw UnknownObject() }
    let object = try contexts[index].existingObject(with: id)
    held[index][name] = object
    return object
  }

  /// Retains the objects of a fetch, and returns their names.
  func hold(_ objects: [ManagedObject], _ index: Int) -> [String] {
    objects.map { object in
      let name = name(object.objectID)
      if ids[name] != nil { held[index][name] = object }
      return name
    }
  }

  private func insert(
    _ name: String, _ entity: String, _ values: [DifferentialOperation.PropertyValue], _ index: Int
  ) throws -> DifferentialOutcome {
    let object = try contexts[index].insertNewObject(forEntityName: entity)
    held[index][name] = object
    note(object, name: name)
    for value in values { try object.setAttributeValue(value.value, for: value.property) }
    return DifferentialOutcome("done")
  }

  private func read(_ property: String, of name: String, _ index: Int) throws -> DifferentialOutcome {
    let value = try object(name, index).value(for: property)
    return DifferentialOutcome(DifferentialText.text(value, name: self.name))
  }

  /// Returns the reported failures of accessors as an outcome, and clears them, so that the context can be saved again.
  func reported(for object: ManagedObject, in context: ManagedObjectContext) -> DifferentialOutcome {
    var outcome = DifferentialOutcome("done")
    for error in context.reportedErrors { outcome.append(DifferentialOutcome(error, name: name)) }
    if !outcome.codes.isEmpty { context.refresh(object, mergeChanges: true) }
    return outcome
  }

  // MARK: Context

  private func pending(of context: ManagedObjectContext) -> DifferentialOutcome {
    func names(_ objects: Set<ManagedObject>) -> String {
      objects.map { name($0.objectID) }.sorted().joined(separator: ", ")
    }
    return DifferentialOutcome(
      "inserted \(names(context.insertedObjects)); updated \(names(context.updatedObjects)); "
        + "deleted \(names(context.deletedObjects))")
  }

  private func saveOrRollback(_ context: ManagedObjectContext) -> DifferentialOutcome {
    do {
      try context.save()
      return DifferentialOutcome("done")
    } catch {
      let outcome = DifferentialOutcome(error, name: name)
      context.rollback()
      return outcome
    }
  }
}

extension DifferentialOperation.Action {
  /// Whether the step can give other contexts changes to merge, or objects new identifiers.
  fileprivate var mayChangeOtherContexts: Bool {
    switch self {
    case .save, .saveOrRollback, .mergeChanges, .obtainPermanentIDs, .updateBatch, .deleteBatch: true
    default: false
    }
  }
}
