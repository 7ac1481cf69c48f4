import CoherenceCore
import Synchronization

/// The waits of running actions, and of parts of other work, for actions, of the whole process. A wait that would close
/// a cycle is refused.
enum WaitGraph {
  /// A running action, or a part of other work, that waits.
  enum Waiter {
    case action(AnyActionHandle)
    case part(AwaitedWork.Part)

    /// The waiter that the present thread or task executes; `nil` for none.
    static var current: Waiter? {
      AnyActionHandle.executing.map { Waiter.action($0) } ?? AwaitedWork.currentPart.map { Waiter.part($0) }
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

  fileprivate struct State {
    /// By waiting action, the actions that it waits for.
    var awaited: [ObjectIdentifier: [AnyActionHandle]] = [:]
    /// By waiting action, the work for whose end it waits.
    var works: [ObjectIdentifier: [AwaitedWork]] = [:]
    /// The waiting parts of work, with the actions that they wait for.
    var parts: [ObjectIdentifier: (part: AwaitedWork.Part, awaited: [AnyActionHandle])] = [:]

    /// The actions that the running parts of a work wait for.
    func awaited(by work: AwaitedWork) -> [AnyActionHandle] {
      parts.values.filter { $0.part.work === work && !$0.part.hasEnded }.flatMap(\.awaited)
    }
  }

  /// The lock is held during the check too, so that of two actions that begin to wait for each other the second one
  /// finds the wait of the first.
  private static let state = Mutex(State())

  /// Records that a running action, or a part of other work, waits for actions. Each call is paired with a call of
  /// `end`. Does nothing after the end of the waiter.
  ///
  /// - Parameter isCanceling: Whether the caller cancels the actions after this call, so that the pending actions among
  ///   them finish without running.
  /// - Throws: ``ErrorCode/deadlock`` when one of the actions cannot finish before the waiter. Nothing is recorded then.
  static func begin(_ waiter: Waiter, for awaited: [AnyActionHandle], canceling isCanceling: Bool) throws {
    if waiter.hasEnded { return }
    waiter.action?.queue.endReservations()
    let canceled = Set(isCanceling ? awaited.map { ObjectIdentifier($0) } : [])
    try state.withLock { state in
      if let handle = state.unfinishable(among: awaited, for: waiter, canceling: canceled) {
        throw CoherenceError(
          .deadlock,
          "\(waiter.subject) cannot wait for '\(type(of: handle.action))', which cannot finish before the waiting "
            + "\(waiter.kind); let the waiting \(waiter.kind) finish, and wait in a detached task, or in the submitter."
        )
      }
      switch waiter {
      case .action(let action): state.awaited[ObjectIdentifier(action), default: []] += awaited
      case .part(let part): state.parts[ObjectIdentifier(part), default: (part, [])].awaited += awaited
      }
    }
  }

  /// Removes a recorded wait.
  static func end(_ waiter: Waiter, for awaited: [AnyActionHandle]) {
    state.withLock { state in
      switch waiter {
      case .action(let action):
        let id = ObjectIdentifier(action)
        guard let present = state.awaited[id] else { return }
        state.awaited[id] = remainder(of: present, without: awaited)
      case .part(let part):
        let id = ObjectIdentifier(part)
        guard let present = state.parts[id] else { return }
        state.parts[id] = remainder(of: present.awaited, without: awaited).map { (part, $0) }
      }
    }
  }

  /// The waits that remain; `nil` for none.
  private static func remainder(
    of present: [AnyActionHandle], without awaited: [AnyActionHandle]
  ) -> [AnyActionHandle]? {
    // The only wait of the action, as mostly. The lock of the whole process is not held for a search of each action.
    if present.count == awaited.count { return nil }
    var remaining = present
    for handle in awaited {
      if let index = remaining.firstIndex(where: { $0 === handle }) { remaining.remove(at: index) }
    }
    return remaining.isEmpty ? nil : remaining
  }

  /// Records that a running action waits for the end of other work. Each call is paired with a call of `end`.
  ///
  /// - Throws: ``ErrorCode/deadlock`` when a part of the work waits for an action unable to finish before the waiting
  ///   action. Nothing is recorded then.
  static func begin(_ action: AnyActionHandle, forEndOf work: AwaitedWork) throws {
    if action.state == .finished { return }
    action.queue.endReservations()
    try state.withLock { state in
      if let handle = state.unfinishable(among: state.awaited(by: work), for: .action(action), canceling: []) {
        throw CoherenceError(
          .deadlock,
          "The action '\(type(of: action.action))' cannot wait for work that waits for '\(type(of: handle.action))', "
            + "which cannot finish before the waiting action; let the waiting action finish, and wait in a detached "
            + "task, or in the submitter.")
      }
      state.works[ObjectIdentifier(action), default: []].append(work)
    }
  }

  /// Removes the recorded wait for the end of other work.
  static func end(_ action: AnyActionHandle, forEndOf work: AwaitedWork) {
    state.withLock { state in
      let id = ObjectIdentifier(action)
      guard var works = state.works[id], let index = works.firstIndex(where: { $0 === work }) else { return }
      works.remove(at: index)
      state.works[id] = works.isEmpty ? nil : works
    }
  }
}

extension WaitGraph.State {
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
    let works = waits.works[ObjectIdentifier(self)] ?? []
    // The work ends after the waiting part.
    let waitsForWaiter = waiter.work.map { work in works.contains { $0 === work } } ?? false
    let ownWaits =
      waitsForWaiter
      ? .waiter
      : Requirement.all((waits.awaited[ObjectIdentifier(self)] ?? []) + works.flatMap { waits.awaited(by: $0) })
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
