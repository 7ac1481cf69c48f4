/// Makes changes of the nested entities from one change of an aggregate.
protocol Projecting {
  /// Returns the effect of the aggregate's change on a nested entity.
  func change<C: Identifiable & Sendable>(of type: C.Type) -> (inout C) -> Void
}

/// A change of an aggregate as a change of one of its entities, which can be applied to another value of the entity:
/// the value is written into the former aggregate, the aggregate is changed, and the entity is read from the result.
struct Projection<T: Identifiable & Sendable>: Projecting {
  /// The value of the aggregate before the change.
  let whole: T
  let table: EntityTable<T>
  let apply: (inout T) -> Void

  func change<C: Identifiable & Sendable>(of type: C.Type) -> (inout C) -> Void {
    { entity in
      var changed = whole
      table.rewrite(&changed, Substitution(entity))
      apply(&changed)
      let search = ChangedOccurrence(of: entity)
      table.visit(changed, search)
      if let found = search.found { entity = found }
    }
  }
}

/// Writes a value of an entity at all its occurrences.
private final class Substitution<C: Identifiable & Sendable>: EntityVisitor {
  private let value: C

  init(_ value: C) { self.value = value }

  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T> {
    if T.self == C.self, let value = value as? T, value.id == entity.id { return table.temporaryNode(value) }
    var entity = entity
    table.rewrite(&entity, self)
    return table.temporaryNode(entity)
  }
}

/// Finds the last occurrence of an entity with a changed value.
private final class ChangedOccurrence<C: Identifiable & Sendable>: EntityVisitor {
  private let given: C
  private(set) var found: C?

  init(of given: C) { self.given = given }

  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T> {
    if T.self == C.self, let entity = entity as? C, entity.id == given.id {
      if !areIdentical(entity, given) { found = entity }
    } else {
      table.visit(entity, self)
    }
    return table.temporaryNode(entity)
  }
}
