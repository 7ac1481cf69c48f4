import Synchronization

/// Connects a test with its actions: an action leaves marks, and waits for gates that the test opens.
///
/// Each attempt decodes a new value of the action, which finds its board by the board's name in the payload.
final class Board: Sendable {
  private static let all = Mutex<[String: Board]>([:])

  /// Returns the board with a name, a new one for a new name.
  static func named(_ name: String) -> Board {
    all.withLock { boards in
      let board = boards[name] ?? Board()
      boards[name] = board
      return board
    }
  }

  private struct Waiter {
    let id: Int
    let isDone: @Sendable (Content) -> Bool
    let continuation: CheckedContinuation<Void, any Error>
  }

  struct Content: Sendable {
    var marks: [String] = []
    var open: Set<String> = []
    var present = 0
    var mostPresent = 0
  }

  private struct State {
    var content = Content()
    var next = 0
    var waiters: [Waiter] = []
    var canceled: Set<Int> = []
  }

  private let state = Mutex(State())

  /// The marks so far, in order.
  var marks: [String] { state.withLock { $0.content.marks } }
  /// The maximum number of concurrent actions so far, each counted from its `enter` to its `leave`.
  var mostPresent: Int { state.withLock { $0.content.mostPresent } }

  func mark(_ text: String) { change { $0.marks.append(text) } }
  func open(_ gate: String) { change { _ = $0.open.insert(gate) } }
  func enter() {
    change { content in
      content.present += 1
      content.mostPresent = max(content.mostPresent, content.present)
    }
  }
  func leave() { change { $0.present -= 1 } }

  /// Waits until an action has left a mark.
  func until(_ mark: String) async throws { try await wait { $0.marks.contains(mark) } }

  /// Waits until a gate is open, or the task is cancelled.
  func pass(_ gate: String) async throws { try await wait { $0.open.contains(gate) } }

  private func change(_ body: (inout Content) -> Void) {
    let ready = state.withLock { state in
      body(&state.content)
      let ready = state.waiters.filter { $0.isDone(state.content) }
      let ids = Set(ready.map(\.id))
      state.waiters.removeAll { ids.contains($0.id) }
      return ready
    }
    for waiter in ready { waiter.continuation.resume() }
  }

  private func wait(_ isDone: @escaping @Sendable (Content) -> Bool) async throws {
    let id = state.withLock { state in
      state.next += 1
      return state.next
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let result = state.withLock { state -> Result<Void, any Error>? in
          if state.canceled.remove(id) != nil { return .failure(CancellationError()) }
          if isDone(state.content) { return .success(()) }
          state.waiters.append(Waiter(id: id, isDone: isDone, continuation: continuation))
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let waiter = state.withLock { state -> Waiter? in
        guard let index = state.waiters.firstIndex(where: { $0.id == id }) else {
          state.canceled.insert(id)
          return nil
        }
        return state.waiters.remove(at: index)
      }
      waiter?.continuation.resume(throwing: CancellationError())
    }
  }
}
