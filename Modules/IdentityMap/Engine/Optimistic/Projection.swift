/// Makes changes of the nested entities from one change of an aggregate.
protocol Projecting {
  /// Returns the effect of the aggregate's change on a nested entity.
  func change<C: Identifiable & Sendable>(of type: C.Type) -> (inout C) -> Void
}

/// A change of an aggregate as a change of one of its entities, which can be applied to another value of the entity:
/// the value is written into the former aggregate, the aggregate is changed, and the entity is read from the result.
struct Projection<T: Identifiable & Sendable>: Projecting {
  let whole: T
  let table: EntityTable<T>
  let apply: (inout T) -> Void

  func change<C: Identifiable & Sendable>(of type: C.Type) -> (inout C) -> Void {
    { part in
      var changed = whole
      table.rewrite(&changed, Substitution(part))
      apply(&changed)
      let search = ChangedPart(part)
      table.visit(changed, search)
      if let found = search.found { part = found }
    }
  }
}

/// Writes a value of an entity at all its occurrences.
private final class Substitution<C: Identifiable & Sendable>: EntityVisitor {
  private let part: C

  init(_ part: C) { self.part = part }

  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T> {
    if T.self == C.self, let part = part as? T, part.id == entity.id { return table.temporaryNode(part) }
    var entity = entity
    table.rewrite(&entity, self)
    return table.temporaryNode(entity)
  }
}

/// Finds the last occurrence of an entity with a changed value.
private final class ChangedPart<C: Identifiable & Sendable>: EntityVisitor {
  private let given: C
  private(set) var found: C?

  init(_ given: C) { self.given = given }

  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T> {
    if T.self == C.self, let entity = entity as? C, entity.id == given.id {
      if !areIdentical(entity, given) { found = entity }
    } else {
      table.visit(entity, self)
    }
    return table.temporaryNode(entity)
  }
}
