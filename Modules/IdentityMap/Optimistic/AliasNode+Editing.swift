/// An alias that optimistic changes edit, whatever it stands for.
protocol EditableAlias: Node {
  func takeBack(_ change: TentativeChange)
  func confirm(_ change: TentativeChange)
  /// An entity was removed: no edit brings it back.
  func forget(_ entity: Node)
  /// Names other entities in the edits.
  func substitute(_ transform: (Handle) -> Handle?)
  /// The entities that a change puts into the content.
  func newcomers(by change: TentativeChange) -> [Node]
}

extension AliasNode: EditableAlias {
  /// The edits of open changes.
  var overlay: AliasOverlay<Content>? {
    relations?.overlay.map { unsafeDowncast($0, to: AliasOverlay<Content>.self) }
  }

  /// Edits the content tentatively.
  func edit(_ edit: AliasEdit, by change: TentativeChange, form: AliasForm<Content>) {
    core.record(self)
    let overlay = overlay ?? AliasOverlay(form, base: entries, patches: [])
    show(overlay.adding(edit, by: change))
    change.keep(self)
  }

  func takeBack(_ change: TentativeChange) {
    guard let overlay, overlay.hasOpenPatches(of: change) else { return }
    core.record(self)
    show(overlay.without(change))
  }

  func confirm(_ change: TentativeChange) {
    guard let overlay, overlay.hasOpenPatches(of: change) else { return }
    core.record(self)
    show(overlay.confirming(change))
  }

  func forget(_ entity: Node) {
    guard let overlay, overlay.mentions(entity) else { return }
    core.record(self)
    show(overlay.without(entity))
  }

  func substitute(_ transform: (Handle) -> Handle?) {
    guard let overlay else { return }
    core.record(self)
    show(overlay.substituting(transform))
  }

  func newcomers(by change: TentativeChange) -> [Node] {
    overlay?.patches.filter { $0.change === change && !$0.isConfirmed }.flatMap(\.edit.newcomers).map(\.node) ?? []
  }

  /// Gives an alias with edits other confirmed entities. The edits are applied on top of them again.
  func rebase(_ overlay: AliasOverlay<Content>, on nodes: [Node]) {
    show(overlay.over(nodes.map { Handle.of($0) }))
  }

  /// Appends entities to the confirmed ones of an alias with edits, below the edits.
  /// - Returns: How many of them were no confirmed entries; `nil` when the alias has no edits.
  func append(_ nodes: [Node]) -> Int? {
    guard let overlay else { return nil }
    let confirmed = overlay.confirmed
    var met = Set(confirmed?.map { ObjectIdentifier($0.node) } ?? [])
    let new = nodes.filter { met.insert(ObjectIdentifier($0)).inserted }
    guard confirmed == nil || !new.isEmpty else { return 0 }
    core.record(self)
    show(overlay.appending(new.map { Handle.of($0) }))
    return new.count
  }

  private func show(_ overlay: AliasOverlay<Content>) {
    let settled = overlay.settled
    let former = setOverlay(settled.patches.isEmpty ? nil : settled)
    defer { withExtendedLifetime(former) {} }
    let entries = settled.shown
    withExtendedLifetime(entries) { stand(for: entries?.map(\.node), form: settled.form) }
  }
}

extension TentativeChange {
  /// Keeps an alias. A second edit of the same alias goes with the first.
  func keep<Content: Sendable>(_ alias: AliasNode<Content>) {
    keep(
      Entry(
        handle: .of(alias), takeBack: { [unowned self] in alias.takeBack(self) },
        confirm: { [unowned self] in alias.confirm(self) }, forget: { alias.forget($0) }, alias: alias))
  }
}
