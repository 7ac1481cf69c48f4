/// A tentative edit of the entities of an alias. It names entities, not indices, so that it can be applied to another
/// list.
enum AliasEdit {
  case insert([Handle], at: Anchor)
  case remove(Handle)
  case replace(Handle, with: Handle)
  case setEntries([Handle])
  case clear

  /// The position of new entries. Without the entry that it names, it is the start or the end of the list.
  enum Anchor {
    case first, last
    case before(Handle), after(Handle)
  }

  /// Edits a list.
  ///
  /// - Parameter entries: The entities of the alias; `nil` for an alias without content.
  func apply(to entries: inout [Handle]?) {
    switch self {
    case .insert(let new, let anchor):
      var list = entries ?? []
      var identities = Set(list.map { ObjectIdentifier($0.node) })
      // An existing entry keeps its position: a list into which the server has put the entity too shows it once.
      let missing = new.filter { identities.insert(ObjectIdentifier($0.node)).inserted }
      list.insert(contentsOf: missing, at: anchor.index(in: list))
      entries = list
    case .remove(let entry):
      entries?.removeAll { $0.node === entry.node }
    case .replace(let entry, let substitute):
      guard entry.node !== substitute.node, var list = entries,
        let index = list.firstIndex(where: { $0.node === entry.node })
      else { return }
      if !list.contains(where: { $0.node === substitute.node }) { list[index] = substitute }
      list.removeAll { $0.node === entry.node }
      entries = list
    case .setEntries(let list):
      entries = list
    case .clear:
      entries = nil
    }
  }

  /// The entities that the edit inserts into the list.
  var inserted: [Handle] {
    switch self {
    case .insert(let new, _), .setEntries(let new): new
    case .replace(_, let substitute): [substitute]
    case .remove, .clear: []
    }
  }

  /// Whether the edit names an entity, as an entry or as the anchor of an insertion.
  func mentions(_ node: Node) -> Bool {
    let named: [Handle] =
      switch self {
      case .insert(let new, .before(let anchor)), .insert(let new, .after(let anchor)): new + [anchor]
      case .insert(let new, _), .setEntries(let new): new
      case .remove(let entry): [entry]
      case .replace(let entry, let substitute): [entry, substitute]
      case .clear: []
      }
    return named.contains { $0.node === node }
  }

  /// The edit with the named entities replaced.
  /// - Parameter transform: Returns the entity to name, or `nil` when the edit must not name it any more.
  /// - Returns: `nil` when the edit has no entity left.
  func mapped(_ transform: (Handle) -> Handle?) -> AliasEdit? {
    switch self {
    case .insert(let new, let anchor):
      let mapped = Self.map(new, transform)
      return mapped.isEmpty && !new.isEmpty ? nil : .insert(mapped, at: anchor.mapped(transform))
    case .remove(let entry):
      return transform(entry).map { .remove($0) }
    case .replace(let entry, let substitute):
      guard let entry = transform(entry), let substitute = transform(substitute) else { return nil }
      return .replace(entry, with: substitute)
    case .setEntries(let list):
      let mapped = Self.map(list, transform)
      return mapped.isEmpty && !list.isEmpty ? nil : .setEntries(mapped)
    case .clear:
      return self
    }
  }

  /// Replaces the entities of a list. Where two become the same entity, the list has the entity once.
  private static func map(_ handles: [Handle], _ transform: (Handle) -> Handle?) -> [Handle] {
    handles.compactMap { handle in
      guard let new = transform(handle) else { return nil }
      return new.node !== handle.node && handles.contains { $0.node === new.node } ? nil : new
    }
  }
}

extension AliasEdit.Anchor {
  fileprivate func index(in list: [Handle]) -> Int {
    switch self {
    case .first: 0
    case .last: list.count
    case .before(let entry): list.firstIndex { $0.node === entry.node } ?? 0
    case .after(let entry): list.firstIndex { $0.node === entry.node }.map { $0 + 1 } ?? list.count
    }
  }

  fileprivate func mapped(_ transform: (Handle) -> Handle?) -> Self {
    switch self {
    case .first, .last: self
    // A removed entry may be restored, and is in no list until then.
    case .before(let entry): .before(transform(entry) ?? entry)
    case .after(let entry): .after(transform(entry) ?? entry)
    }
  }
}
