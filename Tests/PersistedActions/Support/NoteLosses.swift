import CoherenceCore
import Synchronization
import TestSupport

/// The losses of the next saves that insert a note, in order.
final class NoteLosses: Sendable {
  private let remaining: Mutex<[FailingStore.Failure]>

  init(_ losses: FailingStore.Failure...) { remaining = Mutex(losses) }

  func next(for request: StoreSaveRequest) -> FailingStore.Failure? {
    let insertsNote = request.steps.contains { step in
      if case .insert(let entity, _) = step { entity.name == "Note" } else { false }
    }
    guard insertsNote else { return nil }
    return remaining.withLock { $0.isEmpty ? nil : $0.removeFirst() }
  }
}
