import CoherenceCore

extension DifferentialText {
  /// A step as a line.
  static func text(_ operation: DifferentialOperation, model: ManagedObjectModel) -> String {
    "context \(operation.context): \(operation.action.kind) \(arguments(operation.action, model))"
  }

  private static func arguments(_ action: DifferentialOperation.Action, _ model: ManagedObjectModel) -> String {
    switch action {
    case .insert(let name, let entity, let values): "\(name) of \(entity) \(text(values))"
    case .set(let name, let value): "\(name).\(value.property) = \(text(value.value))"
    case .read(let name), .delete(let name), .find(let name): name
    case .relate(let name, let relationship, let target): "\(name).\(relationship) = \(target ?? "nil")"
    case .addMember(let name, let relationship, let member, let place):
      "\(name).\(relationship) += \(member)" + (place.map { " at \($0)" } ?? "")
    case .removeMember(let name, let relationship, let member): "\(name).\(relationship) -= \(member)"
    case .replaceMembers(let name, let relationship, let members):
      "\(name).\(relationship) = [\(members.joined(separator: ", "))]"
    case .moveMember(let name, let relationship, let from, let to): "\(name).\(relationship) from \(from) to \(to)"
    case .fetch(let query), .count(let query): request(query, model)
    case .aggregate(let query): aggregateRequest(query, model)
    case .filter(let name, let relationship, let query):
      "\(name).\(relationship) by \(condition(query, model))"
    case .refresh(let name, let keepingChanges): name + (keepingChanges ? " keeping changes" : "")
    case .mergeChanges(let other): "of context \(other)"
    case .obtainPermanentIDs(let names): names.joined(separator: ", ")
    case .updateBatch(let query, let values): "\(query.entity) where \(condition(query, model)) set \(text(values))"
    case .deleteBatch(let query): "\(query.entity) where \(condition(query, model))"
    case .choosePolicy(let choice): choice.rawValue
    case .listPending, .processPending, .save, .saveOrRollback, .rollback, .refreshAll, .reset: ""
    }
  }

  private static func text(_ values: [DifferentialOperation.PropertyValue]) -> String {
    "{" + values.map { "\($0.property): \(text($0.value))" }.joined(separator: ", ") + "}"
  }

  private static func request(_ query: RandomQuery, _ model: ManagedObjectModel) -> String {
    (try? query.request(in: model) { .string("@" + $0) }).map { text($0) } ?? query.entity
  }

  private static func aggregateRequest(_ query: RandomQuery, _ model: ManagedObjectModel) -> String {
    guard let request = try? query.aggregateRequest(in: model, value: { .string("@" + $0) }) else {
      return query.entity
    }
    var parts = [text(request.records), "by [\(request.propertiesToGroupBy.joined(separator: ", "))]"]
    parts.append("columns [\(request.propertiesToFetch.map(\.expression).joined(separator: ", "))]")
    if let having = request.havingPredicate { parts.append("having " + text(having)) }
    for key in request.sortKeys { parts.append("sort groups \(key.path) \(key.isAscending ? "up" : "down")") }
    if let limit = request.fetchLimit { parts.append("limit \(limit) offset \(request.fetchOffset)") }
    return parts.joined(separator: " ")
  }

  private static func condition(_ query: RandomQuery, _ model: ManagedObjectModel) -> String {
    (try? query.predicate(in: model) { .string("@" + $0) }).map { text($0) } ?? ""
  }

  /// The contexts of a sequence, one line each.
  static func text(_ contexts: [DifferentialSequence.Context]) -> [String] {
    contexts.enumerated().map { index, context in
      var text = "context \(index)"
      if let parent = context.parent { text += " in context \(parent)" }
      if context.savesPastParent { text += ", saves past the parent" }
      for other in context.follows { text += ", follows context \(other)" }
      return text
    }
  }

  // MARK: Models

  /// The declarations of a model, one line for each entity and property.
  static func text(_ entities: [Entity]) -> [String] {
    entities.flatMap { entity -> [String] in
      var head = (entity.isAbstract ? "abstract " : "") + entity.name
      if let parent = entity.parent { head += ": \(parent)" }
      for list in entity.uniqueness { head += " unique(\(list.joined(separator: ", ")))" }
      return [head] + entity.properties.map { "  " + text($0) }
    }
  }

  private static func text(_ property: any PropertyDeclaration) -> String {
    switch property {
    case let attribute as Attribute:
      var text = "\(attribute.name): \(attribute.type)\(attribute.isOptional ? "?" : "")"
      if !attribute.defaultValue.isNull { text += " = \(self.text(attribute.defaultValue))" }
      if !attribute.validation.isEmpty { text += " \(attribute.validation)" }
      return text
    case let composite as CompositeAttribute:
      return "\(composite.name) { \(composite.parts.map { text($0) }.joined(separator: "; ")) }"
    case let relationship as Relationship: return text(relationship)
    default: return property.name
    }
  }

  private static func text(_ relationship: Relationship) -> String {
    let kind = relationship.isToMany ? (relationship.isOrdered ? "toMany ordered" : "toMany") : "toOne"
    var text = "\(relationship.name): \(kind) \(relationship.destination)\(relationship.isOptional ? "" : " required")"
    text += " inverse \(relationship.inverse ?? "none"), \(relationship.deleteRule)"
    if relationship.minimumCount > 0 { text += ", at least \(relationship.minimumCount)" }
    if let maximum = relationship.maximumCount, relationship.isToMany { text += ", at most \(maximum)" }
    return text
  }
}
