/// The aliases by type and name.
struct AliasDirectory {
  private struct Key: Hashable {
    let type: ObjectIdentifier
    let name: String

    init<T>(_ key: AliasKey<T>) {
      type = ObjectIdentifier(T.self)
      name = key.name
    }
  }

  private var nodes: [Key: Node] = [:]

  var all: some Collection<Node> { nodes.values }

  subscript<Content: Sendable>(_ key: AliasKey<Content>) -> AliasNode<Content>? {
    get { nodes[Key(key)].map { unsafeDowncast($0, to: AliasNode<Content>.self) } }
    set { nodes[Key(key)] = newValue }
  }

  mutating func remove<Content>(_ node: AliasNode<Content>) {
    nodes[Key(node.key)] = nil
  }
}

/// An alias, without the type of its content.
protocol ClearableAlias: Node {
  func clear()
}

extension AliasNode: ClearableAlias {}
