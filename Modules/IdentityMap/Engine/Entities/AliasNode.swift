/// The content of an alias.
final class AliasNode<Content: Sendable>: ValueNode<Content?> {
  let key: AliasKey<Content>
  let shape: NestedShape<Content>
  /// The content with the edits of optimistic changes, and still with tentatively removed entities; `nil` for an alias
  /// without content.
  var content: Content?

  init(_ key: AliasKey<Content>, shape: NestedShape<Content>, core: StoreCore) {
    self.key = key
    self.shape = shape
    super.init(core: core)
  }

  override func read() -> Content? {
    core.bringUpToDate(self)
    guard let relations, var visible = content else { return content }
    // Tentatively removed entities are not visible. One walk removes all of them.
    let children = relations.children.map(\.child)
    let absent = Set(children.filter(\.isAbsent).map { ObjectIdentifier($0) })
    if absent.isEmpty { return visible }
    return LinkCursor.walk(over: children, removingAll: absent) { shape.remove(&visible, &$0) } ? nil : visible
  }

  /// Excluding tentatively removed entities calls setters of the content, which a shared read must not do.
  override var isReadable: Bool {
    !flags.contains(.dirty) && core.graph.cycleLinks == 0 && core.optimistic.tentativelyRemovedCount == 0
  }

  /// The content that an update changes: the confirmed content, because tentative changes lie on top of it.
  var updateBase: Content? {
    // Content that exists by tentative edits alone does not count.
    if overlay != nil { return core.withConfirmedValues { read() } }
    guard core.hasTentativeChanges(in: [self]) else { return read() }
    return core.withConfirmedValues { read() } ?? read()
  }

  override func rebuild() {
    guard let relations, var content else { return }
    self.content = nil
    relations.walk(.writeChildren) { shape.writeChildren(&content, &$0) }
    self.content = content
  }

  /// Sets the content and stores its entities.
  func put(_ content: Content, stamp: Stamp?, mode: ChildCollector.Mode) {
    core.record(self)
    if let overlay { return put(content, below: overlay, stamp: stamp, mode: mode) }
    if self.content == nil { retainInternally() }
    setStamp(stamp)
    let (wasEmpty, former) = (self.content == nil, relations?.children.map { ObjectIdentifier($0.child) } ?? [])
    flags.remove(.dirty)
    let formerContent = self.content
    defer { withExtendedLifetime(formerContent) {} }
    self.content = content
    var collector = ChildCollector(core: core, stamp: stamp, mode: mode)
    core.whileInconsistent(self) { shape.collect(content, &collector) }
    if collector.link(self) {
      flags.insert(.dirty)
      isSilentlyDirty = true
    }
    // Changed entities have notified the alias already.
    if wasEmpty || former != collector.children.map({ ObjectIdentifier($0) }) { didChange() }
  }

  /// Removes the content, the edits and the stamp. The log receives the loss of content that was visible.
  func clear() { clear(isVisible: true) }

  /// - Parameter isVisible: Whether the content was visible, so that the observers are notified.
  private func clear(isVisible: Bool) {
    guard content != nil || overlay != nil else { return }
    core.record(self)
    let former = (content, setOverlay(nil))
    defer { withExtendedLifetime(former) {} }
    stamp = .nan
    guard content != nil else { return }
    content = nil
    setChildren([])
    releaseInternally()
    if isVisible { didChange() }
    core.reportUnregistered(key)
  }

  override func remove(_ child: Node) -> Bool {
    core.bringUpToDate(self)
    if overlay != nil {
      discard(child)
      return false
    }
    // The stored content, not the visible one: it still contains tentatively removed entities.
    guard let relations, var reduced = content else { return false }
    // A tentatively removed entity is not visible in the alias, so its removal changes nothing for observers.
    guard !relations.walk(removing: child, { shape.remove(&reduced, &$0) }) else {
      clear(isVisible: !child.isAbsent)
      return false
    }
    core.record(self)
    let former = content
    defer { withExtendedLifetime(former) {} }
    content = reduced
    setChildren(relations.children.map(\.child).filter { $0 !== child })
    if !child.isAbsent { didChange() }
    return false
  }

  override func removeAll(_ children: Set<ObjectIdentifier>) {
    core.bringUpToDate(self)
    guard overlay == nil, let relations, var reduced = content else { return }
    // Content that requires one of the entities is cleared when that entity is removed.
    guard !relations.walk(removingAll: children, { shape.remove(&reduced, &$0) }) else { return }
    var remaining = ChildCollector(core: core, stamp: nil, mode: .lookingUp)
    shape.collect(reduced, &remaining)
    guard isRemainder(remaining.children, without: children) else { return }
    core.record(self)
    let former = content
    defer { withExtendedLifetime(former) {} }
    content = reduced
    setChildren(remaining.children)
    didChange()
  }

  override func makeRestoration() -> () -> Void {
    let (content, stamp, children, overlay) = (content, stamp, relations?.children.map(\.child) ?? [], overlay)
    let wasStamped = flags.contains(.stamped)
    return { [self] in
      core.releaseLater(setOverlay(overlay))
      if (self.content == nil) != (content == nil) {
        if content == nil { releaseInternally() } else { retainInternally() }
      }
      core.releaseLater(self.content)
      self.content = content
      self.stamp = stamp
      // An equal stamp is accepted only after the running transaction has set the stamp.
      if !wasStamped { flags.remove(.stamped) }
      relink(to: children)
      didChange()
    }
  }

  override func removeFromTable() {
    core.aliases.remove(self)
  }

  override var label: String { "alias \(key.name) of \(Content.self)" }
}
