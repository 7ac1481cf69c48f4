import Dispatch

/// Runs a block of the calling task inside a confinement.
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
