import CoherenceCore
import Synchronization
import TestSupport

/// The losses of the next saves that insert a note, in order.
final class NoteLosses: Sendable {
  private let remaining: Mutex<[UncertainStore.Loss]>

  init(_ losses: UncertainStore.Loss...) { remaining = Mutex(losses) }

  func next(for request: StoreSaveRequest) -> UncertainStore.Loss? {
    let insertsNote = request.steps.contains { step in
      if case .insert(let entity, _) = step { entity.name == "Note" } else { false }
    }
    guard insertsNote else { return nil }
    return remaining.withLock { $0.isEmpty ? nil : $0.removeFirst() }
  }
}
