extension EntityStore {
  /// Changes the policy of a type, for stored entities too. A policy is no data: a rollback of the transaction does not
  /// restore it.
  public func setPolicy<T: Identifiable & Sendable>(
    for type: T.Type, _ change: (inout TypePolicy<T>) -> Void
  ) {
    core.exclusively {
      let table = core.table(of: type)
      var policy = table.policy
      change(&policy)
      table.apply(policy)
    }
  }

  /// Evicts the entities of all types whose lifetime has ended, as a garbage collection of the store, and forgets
  /// remembered stamps after their time. Storing or finding an entity of a type does so for the type; call this when
  /// the program does neither for a long time.
  public func collect() {
    core.exclusively {
      // Evicts at the end of the transaction, because a rollback may need the evicted entities.
      core.tables.overdue += core.tables.all
      core.pending.requireCommit()
    }
  }
}
