import CoherenceRuntime
import Dispatch
import Foundation
import Synchronization

/// Reserves records for saves that conflict over them, so that these saves run one after the other and each succeeds.
///
/// Without reservations, many writers of one record overtake each other: while one save resolves its conflict, another
/// save causes the next conflict. A save with a conflict reserves the records in conflict, and later saves of these
/// records wait until the reservation ends. Without any reservation in the process, a save only reads one word.
///
/// Reservations do not reach other processes. Against these, ``pause(after:)`` waits between attempts for a random time
/// that grows.
final class SaveReservations: Sendable {
  /// The reservations of all stores of the process. An identifier names its store.
  static let all = SaveReservations()

  private final class Waiter: Sendable {
    let ids: Set<ManagedObjectID>
    /// Whether the waiter reserves the records, or only waits until they are free.
    let takes: Bool
    let thread: UInt
    let semaphore = DispatchSemaphore(value: 0)

    init(_ ids: Set<ManagedObjectID>, takes: Bool, thread: UInt) {
      self.ids = ids
      self.takes = takes
      self.thread = thread
    }
  }

  private struct State {
    /// The threads that have reserved records, by record.
    var holders: [ManagedObjectID: UInt] = [:]
    var waiters: [Waiter] = []

    /// Whether no other thread has one of the records, and none of the first `count` waiters is to take one.
    func isFree(_ ids: Set<ManagedObjectID>, for thread: UInt, before count: Int) -> Bool {
      !ids.contains { id in holders[id].map { $0 != thread } == true }
        && !waiters.prefix(count).contains { $0.takes && !$0.ids.isDisjoint(with: ids) }
    }
  }

  private let state = Locked(State())
  private let holderCount = Atomic<Int>(0)
  /// The time after which a wait ends without the records, so that a merge policy whose closure waits for the waiting
  /// thread cannot deadlock. Longer than an ordinary reservation.
  private static let waitLimit = DispatchTimeInterval.seconds(2)

  /// The records that a save has reserved.
  typealias Reservation = Set<ManagedObjectID>

  /// The number of saves that wait. For tests.
  var waiterCount: Int { state.withLock { $0.waiters.count } }

  /// Whether any save has a reservation.
  var isAnyTaken: Bool { holderCount.load(ordering: .acquiring) > 0 }

  /// Waits until no other save has reserved one of the records.
  ///
  /// - Returns: Whether the caller had to wait.
  @discardableResult
  func waitForOthers(_ ids: some Sequence<ManagedObjectID>) -> Bool {
    guard isAnyTaken else { return false }
    return wait(Waiter(Set(ids), takes: false, thread: currentThread)).hasWaited
  }

  /// Adds records to a reservation, after a wait until no other save has reserved them. After the time limit, the
  /// reservation is empty.
  func begin(_ reservation: inout Reservation, with ids: [ManagedObjectID]) {
    let wanted = reservation.union(ids)
    guard wanted.count > reservation.count else { return }
    // A reservation takes all its records at once, so that two saves never wait for each other.
    end(&reservation)
    if wait(Waiter(wanted, takes: true, thread: currentThread)).isTaken { reservation = wanted }
  }

  /// Ends a reservation.
  func end(_ reservation: inout Reservation) {
    guard !reservation.isEmpty else { return }
    let ids = reservation
    reservation = []
    let thread = currentThread
    let next = state.withLock { state in
      for id in ids where state.holders[id] == thread { state.holders[id] = nil }
      return admit(&state)
    }
    for waiter in next { waiter.semaphore.signal() }
  }

  /// Waits until the records are free, and takes them for a waiter that takes records.
  private func wait(_ waiter: Waiter) -> (hasWaited: Bool, isTaken: Bool) {
    let isFree = state.withLock { state in
      guard state.isFree(waiter.ids, for: waiter.thread, before: state.waiters.count) else {
        state.waiters.append(waiter)
        return false
      }
      enter(waiter, &state)
      return true
    }
    if isFree { return (false, waiter.takes) }
    let isAdmitted = WorkerPool.shared.blocking { waiter.semaphore.wait(timeout: .now() + Self.waitLimit) } == .success
    if isAdmitted { return (true, waiter.takes) }
    let (isTaken, next) = state.withLock { state -> (Bool, [Waiter]) in
      // Another thread may have admitted the waiter between the end of the wait and the lock.
      guard let index = state.waiters.firstIndex(where: { $0 === waiter }) else { return (waiter.takes, []) }
      state.waiters.remove(at: index)
      // Later waiters may have waited only for this waiter.
      return (false, admit(&state))
    }
    for waiter in next { waiter.semaphore.signal() }
    return (true, isTaken)
  }

  /// Admits the waiters whose records are free, in the order of their arrival. Called under the lock.
  private func admit(_ state: inout State) -> [Waiter] {
    holderCount.store(state.holders.count, ordering: .releasing)
    var admitted: [Waiter] = []
    var index = 0
    while index < state.waiters.count {
      let waiter = state.waiters[index]
      guard state.isFree(waiter.ids, for: waiter.thread, before: index) else {
        index += 1
        continue
      }
      state.waiters.remove(at: index)
      enter(waiter, &state)
      admitted.append(waiter)
    }
    return admitted
  }

  /// Reserves the records for a waiter that takes records.
  private func enter(_ waiter: Waiter, _ state: inout State) {
    guard waiter.takes else { return }
    for id in waiter.ids { state.holders[id] = waiter.thread }
    holderCount.store(state.holders.count, ordering: .releasing)
  }

  /// Waits for a random time of at most 50 milliseconds, which grows with the number of lost attempts.
  static func pause(after count: Int) {
    let longest = min(0.001 * Double(1 << min(count, 6)), 0.05)
    WorkerPool.shared.blocking { Thread.sleep(forTimeInterval: .random(in: 0...longest)) }
  }
}
