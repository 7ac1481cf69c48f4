extension Confinement {
  /// The confinement of a context of a concurrency type.
  convenience init(_ type: ManagedObjectContext.ConcurrencyType, pool: WorkerPool = .shared) {
    self.init(isMain: type == .mainQueue, isOfThread: type == .currentThread, pool: pool)
  }
}
