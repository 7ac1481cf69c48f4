import Synchronization

/// The number of saves and batch requests by contexts of a coordinator, by which a main-queue context notices that its
/// state is out of date.
final class SaveCount: Sendable {
  private let count = Atomic<Int>(0)
  private let mainCount = Atomic<Int>(0)

  @inline(__always) var value: Int { count.load(ordering: .acquiring) }
  /// The number of saves on the main actor's thread: of this coordinator, and of others with one of its stores. To be
  /// read on that thread.
  @inline(__always) var valueOfMain: Int { mainCount.load(ordering: .relaxed) }

  func rise() { count.add(1, ordering: .acquiringAndReleasing) }
  func riseOfMain() { mainCount.add(1, ordering: .relaxed) }
}

extension PersistentStoreCoordinator {
  /// Counts a save or a batch request, on the thread that made it.
  final func countSave() {
    saves.rise()
    // The thread of a turn may do other work before the block that ends the turn runs. A save counted then makes an
    // operation begin another unit without need, which is only slower.
    guard Confinement.isOnMain || MainTurns.isOnCallingThread else { return }
    saves.riseOfMain()
    for count in AttachedStores.all.saveCounts(ofCoordinatorsSharingStoresWith: self) { count.riseOfMain() }
  }
}
