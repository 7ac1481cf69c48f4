import Dispatch

/// Takes the calling task to the place of a confinement for one block.
///
/// A block dispatched into the queue directly would belong to no task: neither task-local values nor a cancellation
/// would reach it.
actor ConfinedTurn {
  private let confinement: Confinement

  init(_ confinement: Confinement) { self.confinement = confinement }

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    confinement.isMain ? MainActor.sharedUnownedExecutor : confinement.asUnownedSerialExecutor()
  }

  func run<T: Sendable>(_ body: @Sendable () throws -> T) throws -> T { try body() }
}

extension Confinement: SerialExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    enqueue(.job(UnownedJob(job)))
  }
}
