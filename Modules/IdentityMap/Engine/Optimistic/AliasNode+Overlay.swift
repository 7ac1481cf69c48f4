extension AliasNode {
  /// Stores the content of an alias with edits, below the edits.
  func put(_ content: Content, below overlay: AliasOverlay<Content>, stamp: Stamp?, mode: ChildCollector.Mode) {
    setStamp(stamp)
    var collector = ChildCollector(core: core, stamp: stamp, mode: mode)
    shape.collect(content, &collector)
    // Storing may run code that ends the edits.
    rebase(self.overlay ?? AliasOverlay(overlay.form, base: nil, patches: []), on: collector.children)
  }

  /// The entities of the alias; `nil` without content.
  var entries: [Handle]? {
    content == nil ? nil : relations?.children.map { Handle.of($0.child) } ?? []
  }

  /// Sets the content to stored entities, or to `nil`.
  func setEntries(_ nodes: [Node]?, form: AliasForm<Content>) {
    let (former, children) = (content, relations?.children.map { ObjectIdentifier($0.child) } ?? [])
    defer { withExtendedLifetime(former) {} }
    content = nodes.flatMap(form.make)
    if former == nil, content != nil { pin() }
    setChildren(content == nil ? [] : nodes ?? [])
    if let relations, !relations.children.isEmpty {
      // The content may have older values of the children, so each child is written into it again.
      for index in relations.children.indices {
        relations.children[index].writtenVersion = relations.children[index].child.version &- 1
      }
      flags.insert(.dirty)
      isSilentlyDirty = true
    }
    if former != nil, content == nil { unpin() }
    guard (former == nil) != (content == nil) || children != nodes?.map({ ObjectIdentifier($0) }) ?? [] else { return }
    didChange()
    if content == nil { core.reportUnregistered(key) } else { core.reportRegistered(key) }
  }
}
