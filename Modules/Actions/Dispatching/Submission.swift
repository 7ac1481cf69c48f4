import CoherenceCore

/// The submission of an action.
struct ActionOrder<Output: Sendable> {
  let action: any Action
  /// `nil` for a generic action.
  var entity: EntityDescription?
  /// `nil` for what the action says of itself.
  let options: ActionOptions?
  let completion: ActionSubmission.Completion?
  let body: ActionBody<Output>
}
