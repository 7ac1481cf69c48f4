import CoherenceCore

/// One call of `execute`.
struct Submission<Output: Sendable> {
  let action: any Action
  /// The entity of an entity action; `nil` for a generic action.
  var entity: EntityDescription?
  /// The options of the call; `nil` for the action's own options.
  let options: ActionOptions?
  let completion: ActionCompletion?
  let body: ActionBody<Output>
}
