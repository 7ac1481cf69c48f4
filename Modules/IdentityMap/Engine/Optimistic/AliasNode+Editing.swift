/// An alias with edits of optimistic changes, without the type of its content.
protocol EditableAlias: Node {
  /// Removes the open edits of a change.
  func revert(_ change: TentativeChange)
  /// Confirms the open edits of a change.
  func confirm(_ change: TentativeChange)
  /// Removes the edits of a removed entity.
  func discard(_ entity: Node)
  /// Names other entities in the edits.
  func substitute(_ transform: (Handle) -> Handle?)
  /// The entities that a change inserts into the content.
  func insertedEntities(by change: TentativeChange) -> [Node]
}

extension AliasNode: EditableAlias {
  /// The edits of open changes.
  var overlay: AliasOverlay<Content>? {
    relations?.overlay.map { unsafeDowncast($0, to: AliasOverlay<Content>.self) }
  }

  /// Edits the content tentatively.
  func edit(_ edit: AliasEdit, by change: TentativeChange, form: AliasForm<Content>) {
    core.record(self)
    var visible = entries
    let overlay = overlay ?? AliasOverlay(form, base: visible, patches: [])
    // The new edit is the last, so it is applied to the visible entries alone. Applying all edits again would take a
    // time in proportion to their number for each of them.
    edit.apply(to: &visible)
    show(visible, of: overlay.adding(edit, by: change))
    change.add(self)
  }

  func revert(_ change: TentativeChange) {
    guard let overlay, overlay.hasOpenPatches(of: change) else { return }
    core.record(self)
    applyOverlay(overlay.without(change))
  }

  func confirm(_ change: TentativeChange) {
    guard let overlay, overlay.hasOpenPatches(of: change) else { return }
    core.record(self)
    applyOverlay(overlay.confirming(change))
  }

  func discard(_ entity: Node) {
    guard let overlay, overlay.mentions(entity) else { return }
    core.record(self)
    applyOverlay(overlay.without(entity))
  }

  func substitute(_ transform: (Handle) -> Handle?) {
    guard let overlay else { return }
    core.record(self)
    applyOverlay(overlay.substituting(transform))
  }

  func insertedEntities(by change: TentativeChange) -> [Node] {
    overlay?.patches.filter { $0.change === change && !$0.isConfirmed }.flatMap(\.edit.inserted).map(\.node) ?? []
  }

  /// Sets the confirmed entities of an alias with edits, and applies the edits to them.
  func rebase(_ overlay: AliasOverlay<Content>, on nodes: [Node]) {
    applyOverlay(overlay.over(nodes.map { Handle.of($0) }))
  }

  /// Appends entities to the confirmed ones of an alias with edits, below the edits.
  /// - Returns: The number of new entries; `nil` when the alias has no edits.
  func append(_ nodes: [Node]) -> Int? {
    guard let overlay else { return nil }
    let confirmed = overlay.confirmed
    var seen = Set(confirmed?.map { ObjectIdentifier($0.node) } ?? [])
    let new = nodes.filter { seen.insert(ObjectIdentifier($0)).inserted }
    guard confirmed == nil || !new.isEmpty else { return 0 }
    core.record(self)
    applyOverlay(overlay.appending(new.map { Handle.of($0) }))
    return new.count
  }

  private func applyOverlay(_ overlay: AliasOverlay<Content>) {
    let normalized = overlay.normalized
    show(normalized.visible, of: normalized)
  }

  /// Sets the edits, and makes the entries after all of them visible.
  private func show(_ entries: [Handle]?, of overlay: AliasOverlay<Content>) {
    let former = setOverlay(overlay.patches.isEmpty ? nil : overlay)
    defer { withExtendedLifetime(former) {} }
    withExtendedLifetime(entries) { setEntries(entries?.map(\.node), form: overlay.form) }
  }
}

extension TentativeChange {
  /// Adds an alias. It is added once, however many edits it has.
  func add<Content: Sendable>(_ alias: AliasNode<Content>) {
    add(
      Participant(
        handle: .of(alias), revert: { [unowned self] in alias.revert(self) },
        confirm: { [unowned self] in alias.confirm(self) }, discard: { alias.discard($0) },
        // An alias retains and hides its absent entities, so that no patch excludes them.
        include: { _ in }, alias: alias))
  }
}
