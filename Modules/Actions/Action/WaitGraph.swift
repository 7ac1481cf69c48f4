import CoherenceCore
import Synchronization

/// The waits of the whole process: of running actions and of parts of other work, for actions and for the end of work.
/// A wait that would close a cycle is refused.
enum WaitGraph {
  /// A running action, or a part of other work, that waits.
  enum Waiter {
    case action(AnyActionHandle)
    case part(AwaitedWork.Part)

    /// The waiter that the present thread or task executes; `nil` for none.
    static var current: Waiter? {
      AnyActionHandle.executing.map { Waiter.action($0) } ?? AwaitedWork.currentPart.map { Waiter.part($0) }
    }

    fileprivate var id: ObjectIdentifier {
      switch self {
      case .action(let action): ObjectIdentifier(action)
      case .part(let part): ObjectIdentifier(part)
      }
    }

    /// The action; `nil` for a part of other work.
    fileprivate var action: AnyActionHandle? { if case .action(let action) = self { action } else { nil } }
    /// The work of the part; `nil` for an action.
    fileprivate var work: AwaitedWork? { if case .part(let part) = self { part.work } else { nil } }

    /// Whether the action or the part has ended. Its wait is that of a task which has outlived it: nothing waits for its
    /// end any more.
    fileprivate var hasEnded: Bool {
      switch self {
      case .action(let action): action.state == .finished
      case .part(let part): part.hasEnded
      }
    }

    /// The waiter as the subject of an error.
    fileprivate var subject: String {
      switch self {
      case .action(let action): "The action '\(type(of: action.action))'"
      case .part: "A handler of an outbox, or a persisted action,"
      }
    }

    /// The kind of the waiter in an error.
    fileprivate var kind: String { if case .action = self { "action" } else { "handler" } }
  }

  /// A recorded wait.
  struct Wait: Sendable {
    fileprivate enum Target {
      case actions([AnyActionHandle])
      case work(AwaitedWork)
    }

    fileprivate let waiter: Waiter
    fileprivate let target: Target

    /// Removes the record. To be called once, at the end of the wait.
    func end() { WaitGraph.state.withLock { $0.remove(self) } }
  }

  fileprivate struct State {
    /// The waits of one waiter.
    struct Waits {
      let waiter: Waiter
      /// The awaited actions, each with the number of waits for it. An action may await thousands of actions at once, so
      /// that the end of a wait must not search or copy a list under the lock of the whole process.
      private var counts: [ObjectIdentifier: (action: AnyActionHandle, count: Int)] = [:]
      /// The work for whose end the waiter waits.
      var works: [AwaitedWork] = []

      init(waiter: Waiter) { self.waiter = waiter }

      var actions: [AnyActionHandle] { counts.values.map { $0.action } }
      var isEmpty: Bool { counts.isEmpty && works.isEmpty }

      mutating func add(_ actions: [AnyActionHandle]) {
        for action in actions { counts[ObjectIdentifier(action), default: (action: action, count: 0)].count += 1 }
      }

      /// Removes each of some actions once.
      mutating func remove(_ actions: [AnyActionHandle]) {
        for action in actions {
          let id = ObjectIdentifier(action)
          guard let count = counts[id]?.count else { continue }
          if count == 1 { counts[id] = nil } else { counts[id]?.count = count - 1 }
        }
      }
    }

    /// The waits, by their waiter.
    var waits: [ObjectIdentifier: Waits] = [:]
  }

  /// The lock is held during the check too, so that of two actions that begin to wait for each other the second one
  /// finds the wait of the first.
  fileprivate static let state = Mutex(State())
}

extension WaitGraph.Waiter {
  /// Records that the action or the part waits for actions.
  ///
  /// - Parameter isCanceling: Whether the caller cancels the actions after this call, so that the pending actions among
  ///   them finish without running.
  /// - Returns: The record, which the caller ends; `nil` after the end of the waiter.
  /// - Throws: ``ErrorCode/deadlock`` when one of the actions cannot finish before the waiter. Nothing is recorded then.
  func beginWait(for awaited: [AnyActionHandle], canceling isCanceling: Bool = false) throws -> WaitGraph.Wait? {
    if hasEnded { return nil }
    action?.queue.endReservations()
    let canceled = Set(isCanceling ? awaited.map { ObjectIdentifier($0) } : [])
    return try WaitGraph.state.withLock { state in
      if let handle = state.unfinishable(among: awaited, for: self, canceling: canceled) {
        throw deadlock("'\(type(of: handle.action))', which")
      }
      return state.add(WaitGraph.Wait(waiter: self, target: .actions(awaited)))
    }
  }

  /// Records that the action or the part waits for the end of work.
  ///
  /// - Returns: The record, which the caller ends; `nil` after the end of the waiter.
  /// - Throws: ``ErrorCode/deadlock`` when the waiter is a part of the work, and when a part of the work waits for an
  ///   action, or for the end of other work, unable to finish before the waiter. Nothing is recorded then.
  func beginWait(forEndOf work: AwaitedWork) throws -> WaitGraph.Wait? {
    if hasEnded { return nil }
    action?.queue.endReservations()
    return try WaitGraph.state.withLock { state in
      let (works, awaited) = state.awaited(byEndOf: [work])
      if let own = self.work, works.contains(where: { $0 === own }) {
        throw deadlock("the end of handlers that")
      }
      if let handle = state.unfinishable(among: awaited, for: self, canceling: []) {
        throw deadlock("work that waits for '\(type(of: handle.action))', which")
      }
      return state.add(WaitGraph.Wait(waiter: self, target: .work(work)))
    }
  }

  /// The error of a wait that would never end.
  ///
  /// - Parameter awaited: The awaited actions or work, followed by "which" or "that": the sentence of the error goes on
  ///   with "cannot finish".
  private func deadlock(_ awaited: String) -> CoherenceError {
    CoherenceError(
      .deadlock,
      "\(subject) cannot wait for \(awaited) cannot finish before the waiting \(kind); let the waiting \(kind) finish, "
        + "and wait in a detached task, or in the submitter.")
  }
}

extension WaitGraph.State {
  fileprivate mutating func add(_ wait: WaitGraph.Wait) -> WaitGraph.Wait {
    switch wait.target {
    case .actions(let actions): waits[wait.waiter.id, default: Waits(waiter: wait.waiter)].add(actions)
    case .work(let work): waits[wait.waiter.id, default: Waits(waiter: wait.waiter)].works.append(work)
    }
    return wait
  }

  fileprivate mutating func remove(_ wait: WaitGraph.Wait) {
    let id = wait.waiter.id
    switch wait.target {
    case .actions(let actions): waits[id]?.remove(actions)
    case .work(let work):
      if let index = waits[id]?.works.firstIndex(where: { $0 === work }) { waits[id]?.works.remove(at: index) }
    }
    if waits[id]?.isEmpty == true { waits[id] = nil }
  }

  /// The work that must end before some work can end: this work, and the work for whose end the running parts of such
  /// work wait. Also the actions that the running parts wait for.
  fileprivate func awaited(byEndOf works: [AwaitedWork]) -> (works: [AwaitedWork], actions: [AnyActionHandle]) {
    var (found, actions, rest): ([AwaitedWork], [AnyActionHandle], [AwaitedWork]) = ([], [], works)
    while let work = rest.popLast() {
      if found.contains(where: { $0 === work }) { continue }
      found.append(work)
      for wait in waits.values where wait.waiter.work === work && !wait.waiter.hasEnded {
        actions += wait.actions
        rest += wait.works
      }
    }
    return (found, actions)
  }

  /// The first of some actions unable to finish before a waiter; `nil` without such an action.
  ///
  /// - Parameter canceled: The actions that the waiter cancels before it waits.
  fileprivate func unfinishable(
    among awaited: [AnyActionHandle], for waiter: WaitGraph.Waiter, canceling canceled: Set<ObjectIdentifier>
  ) -> AnyActionHandle? {
    let detector = DeadlockDetector(awaited: awaited, by: waiter.action) { handle in
      if handle.isPending, canceled.contains(ObjectIdentifier(handle)) { return .none }
      return handle.requirement(of: waiter, waits: self)
    }
    return awaited.first { !detector.canFinish($0) }
  }
}

extension AnyActionHandle {
  fileprivate typealias Requirement = DeadlockDetector<AnyActionHandle>.Requirement

  /// The actions that must finish first: for a running action, the actions that it waits for; for a pending action, the
  /// actions that keep it from its present condition, and from the slot and the lane that it needs afterwards. Running
  /// actions alone have slots and lanes, and keep them until they finish.
  fileprivate func requirement(of waiter: WaitGraph.Waiter, waits: WaitGraph.State) -> Requirement {
    let present = waits.waits[ObjectIdentifier(self)]
    let awaited = waits.awaited(byEndOf: present?.works ?? [])
    // The work ends after the waiting part.
    let waitsForWaiter = waiter.work.map { work in awaited.works.contains { $0 === work } } ?? false
    let ownWaits = waitsForWaiter ? .waiter : Requirement.all((present?.actions ?? []) + awaited.actions)
    switch state {
    case .finished: return .none
    case .executing: return ownWaits
    case .created, .pending: break
    }
    // The caller that cancels the action finishes it, after a call of `cancel` of the action.
    if isCanceledOrExpired { return ownWaits }
    let blockers = queue.blockers(of: self)
    let place = Requirement.any(blockers.running).and(.atLeast(blockers.slotReleaseCount, of: blockers.slotHolders))
    switch blockers.condition {
    case nil, .delay, .cancellation: return place
    // The Connect is stopping, and cannot start again before the waiter has finished.
    case .start: return scheduler === waiter.action?.scheduler ? .waiter : .none
    case .prerequisites: return Requirement.all(resolvedOptions?.prerequisites.all ?? []).and(place)
    }
  }
}
