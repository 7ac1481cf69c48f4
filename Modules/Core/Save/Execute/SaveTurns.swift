import CoherenceRuntime
import Dispatch
import Foundation
import Synchronization

/// Lets saves that meet conflicts over the same records take turns, so that each of them comes through.
///
/// Without turns, a save that reads what another one wrote, resolves the conflict and saves again is overtaken by a third,
/// and with many writers again and again. A save with a conflict takes a turn with the records concerned; later saves of
/// the same records wait until the turn ends. A save without a conflict reads one word.
///
/// Other processes know nothing of turns: for them ``pause(after:)`` waits a random while that grows.
final class SaveTurns: Sendable {
  /// For all stores of the process: identifiers contain their store.
  static let all = SaveTurns()

  private final class Waiter: Sendable {
    let ids: Set<ManagedObjectID>
    /// Whether the waiter takes the records, or only waits until they are free.
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
    /// The threads in their turns, by record.
    var holders: [ManagedObjectID: UInt] = [:]
    var waiters: [Waiter] = []

    /// Whether no other thread has one of the records, or waits for one of them before.
    func isFree(_ ids: Set<ManagedObjectID>, for thread: UInt, before count: Int) -> Bool {
      !ids.contains { id in holders[id].map { $0 != thread } == true }
        && !waiters.prefix(count).contains { $0.takes && !$0.ids.isDisjoint(with: ids) }
    }
  }

  private let state = Locked(State())
  private let holderCount = Atomic<Int>(0)
  /// Longer than any turn takes. A wait is given up then: a merge policy of the user's may wait for who waits here.
  private static let patience = DispatchTimeInterval.seconds(2)

  /// The records that a save has its turn with.
  typealias Turn = Set<ManagedObjectID>

  /// The number of saves that wait. For tests.
  var waiterCount: Int { state.withLock { $0.waiters.count } }

  /// Whether a save has its turn with any record.
  var isAnyTaken: Bool { holderCount.load(ordering: .acquiring) > 0 }

  /// Waits while other saves have their turns with one of the records.
  ///
  /// - Returns: Whether the caller had to wait.
  @discardableResult
  func waitForOthers(_ ids: some Sequence<ManagedObjectID>) -> Bool {
    guard isAnyTaken else { return false }
    return wait(Waiter(Set(ids), takes: false, thread: currentThread)).hasWaited
  }

  /// Adds records to a turn, and waits while other saves have them.
  func begin(_ turn: inout Turn, with ids: [ManagedObjectID]) {
    let wanted = turn.union(ids)
    guard wanted.count > turn.count else { return }
    // All at once: two saves never wait for each other.
    end(&turn)
    if wait(Waiter(wanted, takes: true, thread: currentThread)).isTaken { turn = wanted }
  }

  /// Ends a turn.
  func end(_ turn: inout Turn) {
    guard !turn.isEmpty else { return }
    let ids = turn
    turn = []
    let thread = currentThread
    let next = state.withLock { state in
      for id in ids where state.holders[id] == thread { state.holders[id] = nil }
      return admit(&state)
    }
    for waiter in next { waiter.semaphore.signal() }
  }

  /// Waits until the records are free, and takes them if the waiter wants to.
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
    let isAdmitted = WorkerPool.shared.blocking { waiter.semaphore.wait(timeout: .now() + Self.patience) } == .success
    if isAdmitted { return (true, waiter.takes) }
    let (isTaken, next) = state.withLock { state -> (Bool, [Waiter]) in
      // Admitted at the last moment?
      guard let index = state.waiters.firstIndex(where: { $0 === waiter }) else { return (waiter.takes, []) }
      state.waiters.remove(at: index)
      // Others may have waited for this one alone.
      return (false, admit(&state))
    }
    for waiter in next { waiter.semaphore.signal() }
    return (true, isTaken)
  }

  /// Admits the waiters whose records are free, the first to come first. Called under the lock.
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

  private func enter(_ waiter: Waiter, _ state: inout State) {
    guard waiter.takes else { return }
    for id in waiter.ids { state.holders[id] = waiter.thread }
    holderCount.store(state.holders.count, ordering: .releasing)
  }

  /// Waits a random while, the longer the more often it was needed.
  static func pause(after count: Int) {
    let most = min(0.001 * Double(1 << min(count, 6)), 0.05)
    WorkerPool.shared.blocking { Thread.sleep(forTimeInterval: .random(in: 0...most)) }
  }
}
