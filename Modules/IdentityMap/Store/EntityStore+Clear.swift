extension EntityStore {
  /// Forgets everything, as when a user logs out: removes all entities, with the stamps that outlive them, lets all
  /// aliases stand for nothing, takes back optimistic changes for good, and ends all subscriptions. Policies stay.
  ///
  /// A subscription that has ended is told nothing any more, neither of the removal nor of entities that are stored
  /// later under the same identifiers. No call begins after this has returned, but for one that another thread had just
  /// begun; sequences end, and publishers complete. In a transaction, subscriptions end when the transaction does, and
  /// not at all when it is undone. To tell observers of the removal, call ``removeAll()`` and leave their subscriptions
  /// as they are.
  public func clear() {
    core.exclusively {
      core.endObservations()
      core.clearAliases()
      for table in core.tables.all { table.clear() }
    }
  }
}
