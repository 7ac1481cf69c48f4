/// Receives the states of a live result, in the context.
protocol ResultSink: AnyObject {
  func receive(_ delivery: ResultDelivery, in context: ManagedObjectContext)
  /// Ends the result; `nil` for an end without an error.
  func end(_ error: (any Error)?)
}

/// A state of a live result, with the changes since the state before.
struct ResultDelivery: Sendable {
  let state: ResultState
  let touched: TouchedEntries
  let renamed: [ManagedObjectID: ManagedObjectID]
}
