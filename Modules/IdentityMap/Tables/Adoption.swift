/// Gathers the children of an aggregate that is being stored, and stores them.
struct Adoption {
  let core: StoreCore
  /// Entities that there are already are left as they are, whatever the aggregate says of them.
  let keepsKnown: Bool
  /// That of the aggregate, which holds for all that is in it.
  let stamp: Stamp?
  private(set) var children: [Node] = []
  /// Of each child, the version of its value that the aggregate has.
  private var versions: [UInt32] = []

  init(core: StoreCore, stamp: Stamp?, keepsKnown: Bool = false) {
    self.core = core
    self.keepsKnown = keepsKnown
    self.stamp = stamp
  }

  mutating func adopt<T: Identifiable & Sendable>(_ entity: T) {
    let table = core.table(of: T.self)
    if keepsKnown, let node = table.node(entity.id) {
      children.append(node)
      versions.append(node.version &- 1)
      return
    }
    let placement = table.put(entity, stamp: stamp)
    children.append(placement.node)
    // One that has another value than the given one is to be written into the aggregate.
    versions.append(placement.isAsGiven ? placement.node.version : placement.node.version &- 1)
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
  enum Outcome { case created, changed, equal, refused, closesCircle }

  let node: EntityNode<T>
  let outcome: Outcome

  /// Whether the value that is stored now is the given one.
  var isAsGiven: Bool {
    switch outcome {
    case .created, .changed: !node.flags.contains(.dirty) && node.relations?.overlay == nil
    case .equal: true
    case .refused, .closesCircle: false
    }
  }
}
