import Synchronization

/// The number of saves by contexts of a coordinator.
final class SaveCount: Sendable {
  private let count = Atomic<Int>(0)
  @inline(__always) var value: Int { count.load(ordering: .acquiring) }
  func rise() { count.add(1, ordering: .acquiringAndReleasing) }
}
