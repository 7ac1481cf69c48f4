extension EntityStore {
  /// Stores a page of entities and puts those at the end of the list that an alias stands for which are not in it yet,
  /// as the next page of a feed. An entity that is in the list already keeps its place, with its newer value. An alias
  /// that stands for nothing stands for the page then. Edits of open optimistic changes lie on top: an entity that only
  /// they show is appended too, and keeps the place that they give it as long as they are open.
  ///
  /// The cost is that of the list, whose identifiers are looked at once for each page.
  /// - Parameters:
  ///   - entities: The page, in its order. Of entities that occur repeatedly in it, the first place and the last value
  ///     count.
  ///   - named: The alias of the list.
  ///   - modifiedAt: How fresh the entities are. It does not concern the list: the page is appended whatever stamp the
  ///     alias has.
  /// - Returns: How many entities longer the list is.
  @discardableResult
  public func append<C: RangeReplaceableCollection & Sendable>(
    entities: C, named: AliasKey<C>, modifiedAt: Stamp? = nil
  ) -> Int where C.Element: Identifiable & Sendable {
    core.exclusively {
      let table = core.table(of: C.Element.self)
      table.prepareSearch()
      for entity in entities { _ = table.put(entity, stamp: modifiedAt) }
      if let count = core.aliases[named]?.append(entities.compactMap { table.knownNode($0.id) }) { return count }
      let known = core.aliases[named]?.updateBase
      var content = known ?? C()
      var met = Set(content.map(\.id))
      // Not those that were refused because a fresher one that has gone is remembered: there are no such entities.
      let new: [C.Element] = entities.filter { table.knownNode($0.id) != nil && met.insert($0.id).inserted }
      guard known == nil || !new.isEmpty else { return 0 }
      content.append(contentsOf: new)
      core.setAlias(named, to: content, shape: .list(), stamp: nil, mode: .keepingExisting)
      return new.count
    }
  }
}
