import Synchronization

/// An outage in three phases: some edits still get a reply, then the replies of some edits are lost, and then all edits
/// are lost.
final class NoteOutage: Sendable {
  /// The treatment of one edit.
  enum Fate {
    case answered, answerLost, requestLost
  }

  fileprivate struct State {
    var answered: Int
    var applied: Int
    var held: [CheckedContinuation<Void, Never>] = []
    var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    var isOver = false
  }

  private let state: Mutex<State>

  init(answered: Int, applied: Int) { state = Mutex(State(answered: answered, applied: applied)) }

  /// Returns the treatment of the next edit.
  func nextFate() -> Fate {
    state.withLock { state in
      if state.answered > 0 {
        state.answered -= 1
        return .answered
      }
      guard state.applied > 0 else { return .requestLost }
      state.applied -= 1
      return .answerLost
    }
  }

  /// Holds an edit back until the end of the outage.
  func hold() async {
    await withCheckedContinuation { continuation in
      let ready: [CheckedContinuation<Void, Never>] = state.withLock { state in
        guard !state.isOver else { return [continuation] }
        state.held.append(continuation)
        return state.takeWatchers()
      }
      for continuation in ready { continuation.resume() }
    }
  }

  /// Waits until the outage holds back a number of edits.
  func waitUntilHeld(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let ready: [CheckedContinuation<Void, Never>] = state.withLock { state in
        state.watchers.append((count, continuation))
        return state.takeWatchers()
      }
      for continuation in ready { continuation.resume() }
    }
  }

  /// Ends the outage, and resumes all held edits and all callers of `waitUntilHeld`.
  func end() {
    let waiting: [CheckedContinuation<Void, Never>] = state.withLock { state in
      state.isOver = true
      let waiting = state.held + state.takeWatchers()
      state.held = []
      return waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}

extension NoteOutage.State {
  /// Removes and returns the watchers whose number of edits is reached; all watchers at the end of the outage.
  fileprivate mutating func takeWatchers() -> [CheckedContinuation<Void, Never>] {
    let (count, isOver) = (held.count, isOver)
    let ready = watchers.filter { isOver || $0.count <= count }.map(\.continuation)
    watchers.removeAll { isOver || $0.count <= count }
    return ready
  }
}
