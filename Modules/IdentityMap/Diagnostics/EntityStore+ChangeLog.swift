extension EntityStore {
  /// Keeps the latest changes from now on, for ``changeLog``. Discards a former log. Costs time with each change.
  ///
  /// - Parameter limit: The maximum number of changes in the log; 0 ends the log.
  public func keepChangeLog(_ limit: Int) {
    core.exclusively { core.instrumentation.changeLog = ChangeLog(keeping: limit) }
  }

  /// The latest changes, the oldest first. A change names its entity and never has its values.
  public var changeLog: [ChangeRecord] {
    core.exclusively { core.instrumentation.changeLog.all }
  }
}
