extension EntityStore {
  /// Removes everything, for example when a user logs out: all entities with their remembered stamps, the content of
  /// all aliases, the effects of optimistic changes, whose rollback restores nothing then, and all subscriptions.
  /// Policies stay.
  ///
  /// An ended subscription reports neither the removal nor entities stored later under the same identifiers.
  /// No call begins after this returns, except one that another thread had just begun; sequences end, and publishers
  /// complete. In a transaction, subscriptions end with the transaction, and continue when it is rolled back. To notify
  /// observers of the removal and keep their subscriptions, call ``removeAll()``.
  public func clear() {
    core.exclusively {
      core.endObservations()
      core.clearAliases()
      for table in core.tables.all { table.clear() }
    }
  }
}
