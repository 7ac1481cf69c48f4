extension EntityStore {
  /// Stores a page of entities and appends its new entities to the list of an alias, as for the next page of a feed. An
  /// entity of the list keeps its position and gets the newer value. The page becomes the content of an alias without
  /// content. Edits of open optimistic changes lie on top of the list: an entity that only an edit has inserted is
  /// appended below it, and keeps the position of the edit as long as the change is open.
  ///
  /// The cost is linear in the length of the list.
  /// - Parameters:
  ///   - entities: The page, in its order. Of repeated entities, the first position and the last value count.
  ///   - named: The alias of the list.
  ///   - modifiedAt: The stamp of the entities. It does not apply to the list: the page is appended whichever stamp the
  ///     alias has.
  /// - Returns: The number of appended entities.
  @discardableResult
  public func append<C: RangeReplaceableCollection & Sendable>(
    entities: C, named: AliasKey<C>, modifiedAt: Stamp? = nil
  ) -> Int where C.Element: Identifiable & Sendable {
    core.exclusively {
      let table = core.table(of: C.Element.self)
      table.prepareSearch()
      for entity in entities { _ = table.put(entity, stamp: modifiedAt) }
      if let count = core.aliases[named]?.append(entities.compactMap { table.knownNode($0.id) }) { return count }
      let stored = core.aliases[named]?.updateBase
      var content = stored ?? C()
      var seen = Set(content.map(\.id))
      // Without entities whose remembered stamp has rejected them: they do not exist.
      let new: [C.Element] = entities.filter { table.knownNode($0.id) != nil && seen.insert($0.id).inserted }
      guard stored == nil || !new.isEmpty else { return 0 }
      content.append(contentsOf: new)
      core.setAlias(named, to: content, shape: .list(), stamp: nil, mode: .keepingExisting)
      return new.count
    }
  }
}
