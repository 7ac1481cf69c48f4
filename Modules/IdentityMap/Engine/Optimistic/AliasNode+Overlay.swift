/// The content of an alias with edits: confirmed content lies below the ``AliasOverlay``, whose edits make the visible
/// entries.
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
    let (former, formerEntries) = (content, relations?.children.map { ObjectIdentifier($0.child) } ?? [])
    defer { withExtendedLifetime(former) {} }
    content = nodes.flatMap(form.make)
    if former == nil, content != nil { retainInternally() }
    let children: [Node] = content == nil ? [] : nodes ?? []
    // The content may have older values of the children, so each child is written into it again.
    relink(to: children)
    if !children.isEmpty { isSilentlyDirty = true }
    if former != nil, content == nil { releaseInternally() }
    guard (former == nil) != (content == nil) || formerEntries != nodes?.map({ ObjectIdentifier($0) }) ?? [] else {
      return
    }
    didChange()
    if content == nil { core.reportUnregistered(key) } else { core.reportRegistered(key) }
  }
}
