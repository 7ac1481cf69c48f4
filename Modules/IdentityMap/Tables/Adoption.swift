/// Gathers the children of an aggregate that is being stored, and stores them.
@usableFromInline
struct Adoption {
  @usableFromInline let core: StoreCore
  /// Entities that there are already are left as they are, whatever the aggregate says of them.
  @usableFromInline let keepsKnown: Bool
  /// Entities that are left as they are.
  private let kept: [Node]
  /// That of the aggregate, which holds for all that is in it.
  @usableFromInline let stamp: Stamp?
  @usableFromInline var children: [Node] = []
  /// Of each child, the version of its value that the aggregate has.
  @usableFromInline var versions: [UInt32] = []

  init(core: StoreCore, stamp: Stamp?, keepsKnown: Bool = false, kept: [Node] = []) {
    self.kept = kept
    self.core = core
    self.keepsKnown = keepsKnown
    self.stamp = stamp
  }

  @inlinable mutating func adopt<T: Identifiable & Sendable>(_ entity: T) {
    let table = core.table(of: T.self)
    guard !keepsKnown, let node = table.adoptSimply(entity, stamp: stamp) else { return adoptAtLength(entity) }
    children.append(node)
    versions.append(node.version)
  }

  @usableFromInline mutating func adoptAtLength<T: Identifiable & Sendable>(_ entity: T) {
    let table = core.table(of: T.self)
    if let node = table.node(entity.id) ?? table.hiddenNode(entity.id),
      keepsKnown || kept.contains(where: { $0 === node })
    {
      children.append(node)
      versions.append(node.version &- 1)
      return
    }
    let placement = table.put(entity, stamp: stamp)
    children.append(placement.node)
    // One that has another value than the given one is to be written into the aggregate.
    versions.append(placement.isAsGiven ? placement.node.version : placement.node.version &- 1)
  }

  /// Walks over the value whose children were gathered, without linking anything.
  func walk<R>(removing node: Node, _ body: (inout LinkCursor) -> R) -> R {
    LinkCursor.walk(over: children, removing: node, body)
  }

  /// Links the aggregate to its children.
  /// - Returns: Whether children have other values than the aggregate says: a fresher one was kept, or one of them came
  ///   twice.
  func link(_ aggregate: Node) -> Bool {
    aggregate.setChildren(children)
    guard let relations = aggregate.relations else { return false }
    var differs = false
    for index in children.indices {
      relations.children[index].seen = versions[index]
      if !relations.children[index].isBack, versions[index] != children[index].version { differs = true }
    }
    return differs
  }
}

/// Where an entity went.
struct Placement<T: Identifiable & Sendable> {
  enum Outcome {
    case created, changed, equal
    /// Fresher children that the store has were kept in it.
    case adjusted
    case refused, closesCircle
  }

  let node: EntityNode<T>
  let outcome: Outcome

  /// Whether the value that is stored now is the given one.
  var isAsGiven: Bool {
    switch outcome {
    case .created, .changed: !node.flags.contains(.dirty) && node.relations?.overlay == nil
    case .equal: true
    case .adjusted, .refused, .closesCircle: false
    }
  }
}
