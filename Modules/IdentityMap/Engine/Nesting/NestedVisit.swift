/// Is shown the entities in a value, in the order of their places.
protocol EntityVisitor: AnyObject {
  /// - Returns: A node with the value that a walk which writes puts to the place.
  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T>
}

extension EntityTable {
  /// Shows a visitor the entities in a value, but not those in them.
  /// - Returns: The nodes that the visitor returned.
  @discardableResult
  func visit(_ value: T, _ visitor: any EntityVisitor) -> [Node] {
    guard let plan = plan(for: value) else { return [] }
    var collector = ChildCollector(core: core, stamp: nil, visitor: visitor)
    plan.collect(value, into: &collector)
    return collector.children
  }

  /// Writes what a visitor returns for the entities in a value to their places.
  func rewrite(_ value: inout T, _ visitor: any EntityVisitor) {
    guard let plan = plan(for: value) else { return }
    let nodes = visit(value, visitor)
    // Nothing else keeps them.
    withExtendedLifetime(nodes) {
      LinkCursor.walk(over: nodes) { plan.refresh(&value, along: &$0) }
    }
  }
}

/// The entities in a value that a closure is given, and those in them.
///
/// Where an entity closes a circle, the closure sees it as old as it was stored: such a place says nothing.
final class GivenEntities: EntityVisitor {
  /// By node. All places have one value, unless one of them closes a circle elsewhere.
  private var values: [ObjectIdentifier: [Any]] = [:]
  private var path: Set<ObjectIdentifier>
  private let differences = KnownDifferences()
  /// Whether there are entities of which the store has none any more.
  private(set) var hasRemoved = false

  /// - Parameter value: What the closure is given of an entity.
  init<T: Identifiable & Sendable>(in value: T, of node: EntityNode<T>, _ table: EntityTable<T>) {
    path = [ObjectIdentifier(node)]
    table.visit(value, self)
  }

  /// - Parameter content: What the closure is given of an alias.
  init<Content>(in content: Content, _ shape: NestedShape<Content>, _ core: StoreCore) {
    path = []
    var collector = ChildCollector(core: core, stamp: nil, visitor: self)
    shape.collect(content, &collector)
  }

  /// Whether the closure was given an entity at any place.
  func contains<T>(_ node: EntityNode<T>) -> Bool { values[ObjectIdentifier(node)] != nil }

  /// Whether the closure was given an entity with this value.
  func contains<T>(_ entity: T, of node: EntityNode<T>) -> Bool {
    values[ObjectIdentifier(node)]?.contains { given in
      (given as? T).map { areSame($0, entity, differences) } ?? false
    } ?? false
  }

  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T> {
    // Also one that has been removed since.
    guard let node = table.index.node(entity.id, hash: table.index.hash(entity.id)) else {
      return EntityNode(entity, core: table.core)
    }
    if node.isRemoved { hasRemoved = true }
    guard !path.contains(ObjectIdentifier(node)), !contains(entity, of: node) else { return node }
    values[ObjectIdentifier(node), default: []].append(entity)
    path.insert(ObjectIdentifier(node))
    table.visit(entity, self)
    path.remove(ObjectIdentifier(node))
    return node
  }
}

/// The entities that a closure changed in a value, at any of their places. Of two different changes of one entity the
/// later place counts, and the logger receives an error.
final class NestedEdits: EntityVisitor {
  /// A changed entity. Its handling depends on its type, so it is two closures.
  struct Edit {
    /// Applies the change as confirmed.
    let store: (Stamp?) -> Void
    /// Makes a tentative change, given the projection that makes it of the entity's value.
    let draft: (any Projecting, TentativeChange) -> Void
  }

  private(set) var list: [Edit] = []
  private let given: GivenEntities
  private let changed = Changes()
  private var path: Set<ObjectIdentifier>

  /// By node, the value at the last place that the closure changed.
  private final class Changes {
    var values: [ObjectIdentifier: Any] = [:]
  }

  /// - Parameters:
  ///   - given: What the closure was given of an entity.
  ///   - value: What the closure made of it.
  init<T: Identifiable & Sendable>(from given: T, to value: T, of node: EntityNode<T>, _ table: EntityTable<T>) {
    self.given = GivenEntities(in: given, of: node, table)
    path = [ObjectIdentifier(node)]
    table.visit(value, self)
  }

  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T> {
    guard let node = table.node(entity.id) else {
      // There may be others in a new one.
      table.visit(entity, self)
      return EntityNode(entity, core: table.core)
    }
    guard !path.contains(ObjectIdentifier(node)) else { return node }
    if given.contains(node), !given.contains(entity, of: node) { note(entity, of: node, table) }
    path.insert(ObjectIdentifier(node))
    table.visit(entity, self)
    path.remove(ObjectIdentifier(node))
    return node
  }

  private func note<T: Identifiable & Sendable>(_ entity: T, of node: EntityNode<T>, _ table: EntityTable<T>) {
    let key = ObjectIdentifier(node)
    guard let former = changed.values.updateValue(entity, forKey: key) else {
      return list.append(
        Edit(
          store: { [changed] stamp in
            guard let value = changed.values[key] as? T, !node.isAbsent else { return }
            _ = table.update(node, stamp: stamp) { $0 = value }
          },
          draft: { projecting, tentative in
            guard !node.isAbsent else { return }
            table.patch(node, .init(change: tentative, effect: .change(projecting.change(of: T.self))))
            tentative.add(node, table)
          }))
    }
    if (former as? T).map({ areSame($0, entity) }) != true {
      table.core.reportRejected(T.self, entity.id, EntityError.differentChanges)
    }
  }
}

// MARK: - Projections

/// Makes changes of the entities in a value of one change of the whole.
protocol Projecting {
  /// What the change of the whole does to an entity in it.
  func change<C: Identifiable & Sendable>(of type: C.Type) -> (inout C) -> Void
}

/// A change of an aggregate that changes entities in it, for each of them as a change of its own, which can be applied again to
/// another value of the entity: the value is put to its places in the aggregate as it was, the aggregate is changed, and the
/// entity is taken out of it.
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

/// Puts a value of an entity to all its places.
private final class Substitution<C: Identifiable & Sendable>: EntityVisitor {
  private let part: C

  init(_ part: C) { self.part = part }

  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T> {
    if T.self == C.self, let part = part as? T, part.id == entity.id { return EntityNode(part, core: table.core) }
    var entity = entity
    table.rewrite(&entity, self)
    return EntityNode(entity, core: table.core)
  }
}

/// Finds the last place at which an entity has another value than it had.
private final class ChangedPart<C: Identifiable & Sendable>: EntityVisitor {
  private let given: C
  private(set) var found: C?

  init(_ given: C) { self.given = given }

  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T> {
    if T.self == C.self, let entity = entity as? C, entity.id == given.id {
      if !areSame(entity, given) { found = entity }
    } else {
      table.visit(entity, self)
    }
    return EntityNode(entity, core: table.core)
  }
}
