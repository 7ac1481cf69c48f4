/// Receives the states of a live result, in the context.
protocol ResultSink: AnyObject {
  /// Receives a state. Called inside the context.
  func receive(_ delivery: ResultDelivery, in context: ManagedObjectContext)
  /// Replaces the objects of the last received state after a reset of the context, which has detached them. Called
  /// inside the context.
  func replaceObjects(of state: ResultState, in context: ManagedObjectContext)
  /// Receives the end of the result, which no state follows.
  ///
  /// - Parameter error: The error of a failed read; `nil` for an end without an error.
  func end(_ error: (any Error)?)
}

extension ResultSink {
  /// A sink without objects has nothing to replace.
  func replaceObjects(of state: ResultState, in context: ManagedObjectContext) {}
}

/// A state of a live result, with the changes since the state before.
struct ResultDelivery: Sendable {
  let state: ResultState
  let touched: TouchedEntries
  let renamed: [ManagedObjectID: ManagedObjectID]
}
