import CoherenceActions
import CoherenceCore
import CoherencePersistedActions
import CoherenceStrategies
import Foundation
import Synchronization

enum TestActions {
  static let all: [any PersistedAction.Type] = [
    Mark.self, Hold.self, Patience.self, Fail.self, Leave.self, WriteNote.self, HoldAndCommit.self, Walk.self,
    Answer.self, StopWorker.self, AwaitStop.self, WriteOwnNote.self,
  ]
}

/// Leaves a mark.
struct Mark: PersistedAction {
  let board: String
  var text = "mark"

  func run(in context: PersistedActionContext) async throws { Board.named(board).mark(text) }
}

/// Leaves a mark at its start, waits for the gate of its attempt, and leaves a mark at its end.
struct Hold: PersistedAction {
  let board: String
  var text = "hold"

  func run(in context: PersistedActionContext) async throws {
    let board = Board.named(board)
    board.enter()
    defer { board.leave() }
    board.mark("begin \(text) \(context.attempt)")
    try await board.pass("\(text) \(context.attempt)")
    board.mark("end \(text) \(context.attempt)")
  }
}

/// Stops its own worker, and leaves a mark afterwards.
struct StopWorker: PersistedAction {
  /// The workers by the names of the boards.
  static let workers = Mutex<[String: PersistedActionWorker]>([:])

  let board: String
  let handsBack: Bool

  func run(in context: PersistedActionContext) async throws {
    let worker = Self.workers.withLock { $0[board] }
    await worker?.stop(handsBack ? .handBack : .drain, within: .seconds(60))
    Board.named(board).mark("stopped")
  }
}

/// Waits for an action of a Connect that stops the worker, and leaves a mark afterwards.
struct AwaitStop: PersistedAction {
  struct Stop: AsyncGenericAction {
    let worker: PersistedActionWorker
    func execute() async throws { await worker.stop() }
  }

  /// The actions to submit, with their Connects, by the names of the boards.
  static let stops = Mutex<[String: (connect: GenericConnect<ContextStrategy.Mixed>, action: Stop)]>([:])

  let board: String

  func run(in context: PersistedActionContext) async throws {
    // The action may begin its wait first. The attempt then does not wait.
    if let stop = Self.stops.withLock({ $0[board] }) { _ = try? await stop.connect.execute(stop.action).value }
    Board.named(board).mark("stopped")
  }
}

/// Waits until it is cancelled, and returns without an error.
struct Patience: PersistedAction {
  let board: String

  func run(in context: PersistedActionContext) async throws {
    let board = Board.named(board)
    board.mark(context.isCanceled ? "begin cancelled" : "begin")
    try? await board.pass("never")
    board.mark(context.isCanceled ? "end cancelled" : "end")
  }
}

/// Fails in its first attempts, or in its first attempt with an error that allows no retry.
struct Fail: PersistedAction {
  enum Failure: Error { case broken(secret: String) }
  struct Final: Error {}
  struct Busy: RetryAdvising {
    let delay: Duration
    func retryDelay(at now: Date) -> Duration? { delay }
  }

  let board: String
  let times: Int
  var isFinal = false
  /// The delay in seconds that the error of a failed attempt asks for.
  var delay: Int?

  static func isRetryable(_ error: any Error) -> Bool { !(error is Final) }

  func run(in context: PersistedActionContext) async throws {
    Board.named(board).mark("attempt \(context.attempt)")
    if isFinal { throw Final() }
    guard context.attempt <= times else { return }
    if let delay { throw Busy(delay: .seconds(delay)) }
    throw Failure.broken(secret: "pass-word-7")
  }
}

/// Ends its first attempt with a `PersistedActionExit`, at once or after a gate, and succeeds in the second.
struct Leave: PersistedAction {
  enum Way: String, Codable { case later, postponed, parked }

  let board: String
  let way: Way
  var date = Date.distantPast
  var waits = false
  /// The delay in seconds before a later attempt.
  var delay = 90

  func run(in context: PersistedActionContext) async throws {
    let board = Board.named(board)
    board.mark("attempt \(context.attempt)")
    guard board.marks.count == 1 else { return }
    if waits { try await board.pass("leave") }
    switch way {
    case .later: throw PersistedActionExit.retry(after: .seconds(delay))
    case .postponed: throw PersistedActionExit.postpone(until: date)
    case .parked: throw PersistedActionExit.park("The order was closed.")
    }
  }
}

/// Commits a note together with its completion.
struct WriteNote: PersistedAction {
  let text: String
  var failsAfterwards = false

  func run(in context: PersistedActionContext) async throws {
    try await context.commit { try $0.insertNote(text) }
    if failsAfterwards { throw CancellationError() }
  }
}

/// Ignores errors of its checkpoint, and then saves a note in a context of its own.
struct WriteOwnNote: PersistedAction {
  func run(in context: PersistedActionContext) async throws {
    _ = try? await context.checkpoint(1) { try $0.insertNote("checkpoint") }
    let own = context.newContext()
    try await own.perform {
      try own.insertNote("own note")
      try own.save()
    }
  }
}

/// Waits for the gate of its attempt, and then commits a note together with its completion.
struct HoldAndCommit: PersistedAction {
  let board: String

  func run(in context: PersistedActionContext) async throws {
    let board = Board.named(board)
    board.mark("begin \(context.attempt)")
    try? await board.pass("commit \(context.attempt)")
    let text = "note of attempt \(context.attempt)"
    do {
      try await context.commit { try $0.insertNote(text) }
    } catch {
      board.mark("refused \(context.attempt)")
      throw error
    }
  }
}

/// Saves a note and a checkpoint in each step, and fails once in the first attempt.
struct Walk: PersistedAction {
  struct Stumble: Error {}

  let board: String
  let steps: Int
  let stumblesBefore: Int

  func run(in context: PersistedActionContext) async throws {
    let last = try context.lastCheckpoint(as: Int.self) ?? 0
    for step in (last + 1)...steps {
      if step == stumblesBefore, context.attempt == 1 {
        // The thrown error must prevent the save of the note.
        try await context.checkpoint(step) { context in
          try context.insertNote("stumbled")
          throw Stumble()
        }
      }
      try await context.checkpoint(step) { try $0.insertNote("step \(step)") }
      context.setProgress(Int64(step), of: Int64(steps))
      Board.named(board).mark("step \(step)")
    }
  }
}

/// Has a result.
struct Answer: PersistedAction {
  let number: Int

  func run(in context: PersistedActionContext) async throws {
    context.setProgress(1, of: 2)
    try context.setResult(["number": number])
  }
}
