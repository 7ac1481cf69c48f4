import Synchronization

/// The number of living instances, which all threads count.
final class LivingCount: Sendable {
  private let count = Atomic<Int>(0)

  var value: Int { count.load(ordering: .relaxed) }

  func add(_ amount: Int) {
    count.wrappingAdd(amount, ordering: .relaxed)
  }
}

/// Counts its living instances.
final class Tally: Sendable {
  private let alive: LivingCount

  init(_ alive: LivingCount) {
    self.alive = alive
    alive.add(1)
  }

  deinit {
    alive.add(-1)
  }
}
