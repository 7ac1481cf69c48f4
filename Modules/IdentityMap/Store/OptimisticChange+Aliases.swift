/// The position of new entries in the list of an alias.
public enum ListPosition<ID: Hashable> {
  /// At the start.
  case first
  /// At the end.
  case last
  /// Before the entry of an entity; at the start while the list does not contain the entity.
  case before(ID)
  /// After the entry of an entity; at the end while the list does not contain the entity.
  case after(ID)
}

extension ListPosition: Sendable where ID: Sendable {}

/// Edits of the content of aliases. They are applied again, in the order in which they were made, after each confirmed
/// change of the content: an appended page, a removed entity, other content. Reverting an edit leaves those changes; a
/// confirmed edit keeps its position among the edits of other changes. Removing the alias, or the entity of an edit,
/// ends the edit. Each edit costs time in proportion to the length of the list.
extension OptimisticChange.Draft {
  /// Inserts an entity into the list of an alias. An entity of the list, also of a page appended later, keeps
  /// its position. An alias without content gets a list.
  /// - Parameter entity: A new entity is tentative, as in ``store(_:)``; an existing entity keeps its value.
  public borrowing func insert<C: RangeReplaceableCollection & Sendable>(
    _ entity: C.Element, at position: ListPosition<C.Element.ID> = .first, named: AliasKey<C>
  ) where C.Element: Identifiable & Sendable {
    insert([entity], at: position, named)
  }

  /// Puts entities at the end of the list of an alias; see ``insert(_:at:named:)``.
  public borrowing func append<C: RangeReplaceableCollection & Sendable>(
    entities: C, named: AliasKey<C>
  ) where C.Element: Identifiable & Sendable {
    insert(Array(entities), at: .last, named)
  }

  private borrowing func insert<C: RangeReplaceableCollection & Sendable>(
    _ entities: [C.Element], at position: ListPosition<C.Element.ID>, _ named: AliasKey<C>
  ) where C.Element: Identifiable & Sendable {
    let tentative = tentative
    let new = entities.compactMap { tentative.storeEntry($0) }
    edit(named, .insert(new, at: anchor(of: position, in: C.Element.self)))
  }

  /// Removes an entity from the list of an alias. The entity itself stays if something else retains it.
  public borrowing func removeEntry<C: RangeReplaceableCollection & Sendable>(
    _ id: C.Element.ID, named: AliasKey<C>
  ) where C.Element: Identifiable & Sendable {
    guard let node = core.table(of: C.Element.self).knownNode(id) else { return }
    edit(named, .remove(.of(node)))
  }

  /// Replaces an entity in the list of an alias. If the list contains the substitute already, the replaced entity is
  /// only removed.
  /// - Parameter entity: A new entity is tentative, as in ``store(_:)``; an existing entity keeps its value.
  public borrowing func replaceEntry<C: RangeReplaceableCollection & Sendable>(
    _ id: C.Element.ID, with entity: C.Element, named: AliasKey<C>
  ) where C.Element: Identifiable & Sendable {
    let table = core.table(of: C.Element.self)
    guard let node = table.knownNode(id), let substitute = tentative.storeEntry(entity) else { return }
    edit(named, .replace(.of(node), with: substitute))
  }

  /// Stores entities, as ``store(_:)`` does, as the content of an alias.
  public borrowing func store<C: RangeReplaceableCollection & Sendable>(
    _ entities: C, named: AliasKey<C>
  ) where C.Element: Identifiable & Sendable {
    for entity in entities { store(entity) }
    let table = core.table(of: C.Element.self)
    edit(named, .setEntries(entities.compactMap { table.knownNode($0.id).map { .of($0) } }))
  }

  /// Stores an entity, as ``store(_:)`` does, as the content of an alias.
  public borrowing func store<T: Identifiable & Sendable>(_ entity: T, named: AliasKey<T>) {
    store(entity)
    guard let node = core.table(of: T.self).knownNode(entity.id) else { return }
    core.alias(named, shape: .entity()).edit(.setEntries([.of(node)]), by: tentative, form: .entity)
  }

  /// Removes the content of an alias.
  public borrowing func removeAlias<T: Identifiable & Sendable>(named: AliasKey<T>) {
    core.alias(named, shape: .entity()).edit(.clear, by: tentative, form: .entity)
  }

  /// Removes the content of an alias of a collection.
  public borrowing func removeAlias<C: RangeReplaceableCollection & Sendable>(
    named: AliasKey<C>
  ) where C.Element: Identifiable & Sendable {
    edit(named, .clear)
  }

  // MARK: The edits

  private borrowing func edit<C: RangeReplaceableCollection & Sendable>(
    _ key: AliasKey<C>, _ edit: AliasEdit
  ) where C.Element: Identifiable & Sendable {
    core.alias(key, shape: .list()).edit(edit, by: tentative, form: .list)
  }

  /// Translates a position to the handles of nodes. An identifier that the store does not know becomes the start or
  /// the end, as the position says.
  private borrowing func anchor<T: Identifiable & Sendable>(
    of position: ListPosition<T.ID>, in type: T.Type
  ) -> AliasEdit.Anchor {
    let table = core.table(of: type)
    switch position {
    case .first: return .first
    case .last: return .last
    case .before(let id): return table.knownNode(id).map { .before(.of($0)) } ?? .first
    case .after(let id): return table.knownNode(id).map { .after(.of($0)) } ?? .last
    }
  }
}

extension TentativeChange {
  /// Stores the entity of an edit tentatively, unless the store has it.
  fileprivate func storeEntry<T: Identifiable & Sendable>(_ entity: T) -> Handle? {
    let table = core.table(of: T.self)
    table.storeNestedTentatively(entity, self)
    return table.knownNode(entity.id).map { .of($0) }
  }
}
