/// Receives the states of a live result, in the context.
protocol ResultSink: AnyObject {
  /// Receives a state. Called inside the context.
  func receive(_ delivery: ResultDelivery, in context: ManagedObjectContext)
  /// Receives the end of the result, which no state follows.
  ///
  /// - Parameter error: The error of a failed read; `nil` for an end without an error.
  func end(_ error: (any Error)?)
}

/// A state of a live result, with the changes since the state before.
struct ResultDelivery: Sendable {
  let state: ResultState
  let touched: TouchedEntries
  let renamed: [ManagedObjectID: ManagedObjectID]
}
