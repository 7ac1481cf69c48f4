/// What an alias stands for.
final class AliasNode<Content: Sendable>: ValueNode<Content?> {
  let key: AliasKey<Content>
  private let shape: NestedShape<Content>
  private var content: Content?

  init(_ key: AliasKey<Content>, shape: NestedShape<Content>, core: StoreCore) {
    self.key = key
    self.shape = shape
    super.init(core: core)
  }

  override func read() -> Content? {
    core.refresh(self)
    guard let relations, var shown = content else { return content }
    // What is removed for the time being is not shown.
    var left = relations.children.map(\.child)
    while let hidden = left.first(where: \.isVacant) {
      if LinkCursor.walk(over: left, removing: hidden, { shape.remove(&shown, &$0) }) { return nil }
      left.removeAll { $0 === hidden }
    }
    return shown
  }

  /// What an update is made of: what is not sure lies on top of it.
  var basis: Content? {
    guard core.hasUnsure(in: [self]) else { return read() }
    return core.withSureValues { read() } ?? read()
  }

  override func rebuild() {
    guard let relations, var content else { return }
    self.content = nil
    relations.walk(.refresh) { shape.refresh(&content, &$0) }
    self.content = content
  }

  /// Lets the alias stand for something, and stores what is in it.
  func put(_ content: Content, stamp: Stamp?, mode: Adoption.Mode) {
    core.record(self)
    if self.content == nil { pin() }
    note(stamp)
    let (wasNothing, former) = (self.content == nil, relations?.children.map { ObjectIdentifier($0.child) } ?? [])
    flags.remove(.dirty)
    let formerContent = self.content
    defer { withExtendedLifetime(formerContent) {} }
    self.content = content
    var adoption = Adoption(core: core, stamp: stamp, mode: mode)
    core.unsettle(self) { shape.adopt(content, &adoption) }
    if adoption.link(self) {
      flags.insert(.dirty)
      isUntold = true
    }
    // Of entities that changed, it has been told already.
    if wasNothing || former != adoption.children.map({ ObjectIdentifier($0) }) { tell() }
  }

  /// Lets the alias stand for nothing. What it stood for is kept no longer, and neither is its stamp.
  func clear() {
    guard content != nil else { return }
    core.record(self)
    let former = content
    defer { withExtendedLifetime(former) {} }
    content = nil
    stamp = .nan
    setChildren([])
    unpin()
    tell()
  }

  private func tell() {
    advance()
    core.spread(from: self)
  }

  override func remove(_ child: Node) -> Bool {
    core.refresh(self)
    // Not what is read: an entity that is removed for the time being is still in it.
    guard let relations, var reduced = content else { return false }
    guard !relations.walk(.remove, removing: child, { shape.remove(&reduced, &$0) }) else {
      clear()
      return false
    }
    core.record(self)
    let former = content
    defer { withExtendedLifetime(former) {} }
    content = reduced
    setChildren(relations.children.map(\.child).filter { $0 !== child })
    tell()
    return false
  }

  override func snapshot() -> () -> Void {
    let (content, stamp, children) = (content, stamp, relations?.children.map(\.child) ?? [])
    return { [self] in
      if (self.content == nil) != (content == nil) {
        if content == nil { unpin() } else { pin() }
      }
      core.letGoLater(self.content)
      self.content = content
      self.stamp = stamp
      setChildren(children)
      for index in children.indices { relations?.children[index].seen = children[index].version &- 1 }
      if !children.isEmpty { flags.insert(.dirty) }
      tell()
    }
  }

  override func leaveTable() {
    core.aliases.remove(self)
  }

  override var label: String { "alias \(key.name) of \(Content.self)" }
}

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

/// An alias whatever it stands for.
protocol Clearable: Node {
  func clear()
}

extension AliasNode: Clearable {}
