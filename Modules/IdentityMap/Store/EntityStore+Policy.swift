extension EntityStore {
  /// Says how the entities of a type are dealt with, from now on and those that are stored already. It is no change of
  /// data: it stays when the transaction in which it is said throws.
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

  /// Forgets what is over its time. It happens by itself whenever something of the type is stored or looked for; call
  /// this where neither may happen for long.
  public func collect() {
    core.exclusively {
      // When the transaction ends: what it has displaced stays if it is undone.
      core.tables.overdue += core.tables.all
      core.pending.requireCommit()
    }
  }
}
