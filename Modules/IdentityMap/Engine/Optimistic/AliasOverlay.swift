/// The edits of an alias by optimistic changes, over its confirmed entities.
///
/// Edits are applied in the order in which they were made. A confirmed edit keeps its position in this order until all
/// earlier edits are confirmed, so that the order of the confirmations moves no entry.
final class AliasOverlay<Content> {
  /// The confirmed entities below all edits; `nil` for an alias without content.
  let base: [Handle]?
  /// The edits, in the order in which they were made.
  let patches: [Patch]
  let form: AliasForm<Content>

  /// One edit of a change.
  struct Patch {
    let change: TentativeChange
    let edit: AliasEdit
    var isConfirmed = false
  }

  init(_ form: AliasForm<Content>, base: [Handle]?, patches: [Patch]) {
    self.form = form
    self.base = base
    self.patches = patches
  }

  /// The entities after all edits.
  var visible: [Handle]? { entries { _ in true } }

  /// The entities after the confirmed edits alone.
  var confirmed: [Handle]? { entries(where: \.isConfirmed) }

  private func entries(where isApplied: (Patch) -> Bool) -> [Handle]? {
    var entries = base
    for patch in patches where isApplied(patch) { patch.edit.apply(to: &entries) }
    return entries
  }

  func mentions(_ node: Node) -> Bool {
    base?.contains { $0.node === node } ?? false || patches.contains { $0.edit.mentions(node) }
  }

  func hasOpenPatches(of change: TentativeChange) -> Bool {
    patches.contains { $0.change === change && !$0.isConfirmed }
  }

  // MARK: Other overlays

  private func with(base: [Handle]?, _ patches: [Patch]) -> AliasOverlay {
    AliasOverlay(form, base: base, patches: patches)
  }

  func adding(_ edit: AliasEdit, by change: TentativeChange) -> AliasOverlay {
    with(base: base, patches + [Patch(change: change, edit: edit)])
  }

  /// The overlay over other confirmed entities, which contain all confirmed edits.
  func over(_ base: [Handle]?) -> AliasOverlay {
    with(base: base, patches.filter { !$0.isConfirmed })
  }

  /// The overlay with entities appended to the confirmed entities.
  func appending(_ new: [Handle]) -> AliasOverlay {
    guard let last = patches.lastIndex(where: \.isConfirmed) else { return with(base: (base ?? []) + new, patches) }
    // Entities below a confirmed edit would be removed, hidden, or in front of the entries of that edit.
    let change = patches[last].change
    var edited = patches
    switch patches[last].edit {
    case .setEntries(let entries):
      edited[last] = Patch(change: change, edit: .setEntries(entries + new), isConfirmed: true)
    case .insert(let entries, .last):
      edited[last] = Patch(change: change, edit: .insert(entries + new, at: .last), isConfirmed: true)
    case .insert, .remove, .replace, .clear:
      edited.insert(Patch(change: change, edit: .insert(new, at: .last), isConfirmed: true), at: last + 1)
    }
    return with(base: base, edited)
  }

  /// The overlay without the edits of a reverted change.
  func without(_ change: TentativeChange) -> AliasOverlay {
    with(base: base, patches.filter { $0.change !== change || $0.isConfirmed })
  }

  func confirming(_ change: TentativeChange) -> AliasOverlay {
    with(
      base: base,
      patches.map { $0.change === change ? Patch(change: change, edit: $0.edit, isConfirmed: true) : $0 })
  }

  /// The overlay with other entities in place of the entities that the edits name.
  func substituting(_ transform: (Handle) -> Handle?) -> AliasOverlay {
    with(
      base: base,
      patches.compactMap { patch in
        patch.edit.mapped(transform).map {
          Patch(change: patch.change, edit: $0, isConfirmed: patch.isConfirmed)
        }
      })
  }

  /// The overlay without a removed entity. An open edit that requires the entity is dropped. A confirmed edit still
  /// removes the entries that it has replaced.
  func without(_ node: Node) -> AliasOverlay {
    func unlessRemoved(_ handle: Handle) -> Handle? { handle.node === node ? nil : handle }
    var base = base?.compactMap(unlessRemoved)
    if !form.isList, base?.isEmpty ?? false { base = nil }
    return with(
      base: base,
      patches.compactMap { patch in
        let edit =
          patch.edit.mapped(unlessRemoved) ?? (patch.isConfirmed ? form.remainder(of: patch.edit, without: node) : nil)
        return edit.map { Patch(change: patch.change, edit: $0, isConfirmed: patch.isConfirmed) }
      })
  }

  /// The overlay with its leading confirmed edits applied to the base.
  var normalized: AliasOverlay {
    let count = patches.prefix(while: \.isConfirmed).count
    guard count > 0 else { return self }
    var base = base
    for patch in patches.prefix(count) { patch.edit.apply(to: &base) }
    return with(base: base, Array(patches.dropFirst(count)))
  }
}

/// The form of an alias's content: one entity, or a list of entities.
struct AliasForm<Content> {
  /// Whether the content is a list, which may be empty.
  let isList: Bool
  /// Makes a content of nodes.
  let make: ([Node]) -> Content?

  /// The remaining effect of a confirmed edit whose entity was removed.
  fileprivate func remainder(of edit: AliasEdit, without removed: Node) -> AliasEdit? {
    switch edit {
    case .replace(let entry, _) where entry.node !== removed: .remove(entry)
    case .setEntries: isList ? .setEntries([]) : .clear
    case .insert, .remove, .replace, .clear: nil
    }
  }
}

extension AliasForm where Content: Identifiable & Sendable {
  static var entity: AliasForm {
    AliasForm(isList: false) { nodes in
      nodes.first.map { unsafeDowncast($0, to: EntityNode<Content>.self).value }
    }
  }
}

extension AliasForm where Content: RangeReplaceableCollection, Content.Element: Identifiable & Sendable {
  static var list: AliasForm {
    AliasForm(isList: true) { nodes in
      Content(nodes.map { unsafeDowncast($0, to: EntityNode<Content.Element>.self).value })
    }
  }
}
