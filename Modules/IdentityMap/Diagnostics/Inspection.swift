/// The entities of a store and the reasons to retain them, for debugging. It contains types and identifiers, and
/// never values.
public struct Inspection: Sendable, CustomStringConvertible {
  /// An entity of the store.
  public struct Entry: Sendable {
    /// The entity's type and identifier.
    public let entity: String
    /// The number of references from outside of the graph that retain the entity: `EntityObserver` values,
    /// subscriptions, and open optimistic changes.
    public let handles: Int
    /// The aggregates, lists, aliases and observed identifiers that contain the entity, by their descriptions.
    public let containers: [String]
    /// The number of observers of the entity's values: closures, sequences and publishers.
    public let observers: Int
    /// The stamp of the entity; `nil` for an entity without a stamp.
    public let stamp: Stamp?
    /// Whether the lifetime of its type retains the entity.
    public let isKeptByLifetime: Bool
    /// Whether the entity has tentative changes.
    public let isOptimistic: Bool
  }

  /// The entities, sorted by type and identifier.
  public let entities: [Entry]
  /// The names of the aliases with content, with their types.
  public let aliases: [String]

  public var description: String {
    let lines = entities.map { entry in
      var words = ["\(entry.entity):"]
      if entry.handles > 0 { words.append("\(entry.handles) handles") }
      if !entry.containers.isEmpty { words.append("in \(entry.containers.joined(separator: ", "))") }
      if entry.observers > 0 { words.append("\(entry.observers) observers") }
      if let stamp = entry.stamp { words.append("stamp \(stamp)") }
      if entry.isKeptByLifetime { words.append("retained by its lifetime") }
      if entry.isOptimistic { words.append("optimistic") }
      return words.joined(separator: " ")
    }
    return (["\(entities.count) entities, \(aliases.count) aliases"] + lines + aliases).joined(separator: "\n")
  }
}

extension EntityStore {
  /// Returns the entities and the reasons to retain them. Takes time with the store locked; for debugging.
  public func inspect() -> Inspection {
    core.exclusively {
      var entries: [Inspection.Entry] = []
      for table in core.tables.all { table.forEachNode { if !$0.isAbsent { entries.append(Inspection.Entry($0)) } } }
      let aliases = core.aliases.all.filter { $0.relations.map { $0.internalRetainCount > 0 } ?? false }.map(\.label)
      return Inspection(entities: entries.sorted { $0.entity < $1.entity }, aliases: aliases.sorted())
    }
  }

  /// The number of present entities of a type. Takes time in proportion to their number, with the store locked.
  public func count<T: Identifiable & Sendable>(of type: T.Type) -> Int {
    core.exclusively {
      let table = core.table(of: type)
      table.prepareSearch()
      var count = 0
      table.index.forEach { if !$0.isAbsent && !table.isExpired($0) { count += 1 } }
      return count
    }
  }
}

extension Inspection.Entry {
  fileprivate init(_ node: Node) {
    let relations = node.relations
    entity = node.label
    handles = Handle.count(of: node)
    containers = Set(relations?.parents.map(\.parent.label) ?? []).sorted()
    observers = relations?.observerGroups.reduce(0) { $0 + $1.count } ?? 0
    stamp = node.stamp.isNaN ? nil : node.stamp
    isKeptByLifetime = relations?.lruEntry != nil
    isOptimistic = relations?.overlay != nil
  }
}
