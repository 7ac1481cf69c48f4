extension EntityStore {
  /// Keeps the last changes from now on, for ``changeLog``. It costs time with each change; 0 keeps none.
  public func keepChangeLog(_ limit: Int) {
    core.exclusively { core.instrumentation.history = ChangeHistory(keeping: limit) }
  }

  /// The last changes, from the first to the last. They say which entities, and never their values.
  public var changeLog: [ChangeRecord] {
    core.exclusively { core.instrumentation.history.all }
  }
}
