/// An action as an ``ActionQueue`` sees it. The queue knows nothing else about actions and their handles.
///
/// The queue reads the properties with its lock locked, so that they must not call the queue. It calls `run` with the
/// lock unlocked.
protocol QueuedAction: AnyObject, Sendable {
  /// The present priority. A raised priority takes effect with `raise` of the queue or backlog.
  var priority: ActionPriority { get }
  /// Whether the action still waits. A withdrawn action is not pending, and is skipped.
  var isPending: Bool { get }
  /// The limit that the action needs a slot of; `nil` for an action without a limit.
  var limit: ConcurrencyLimit? { get }
  /// Whether the work needs a thread of its own. Other work starts a task and returns.
  var mayBlock: Bool { get }

  /// Runs the action, unless it was withdrawn. Called on the dispatch queue of the lane; for an action that does not
  /// block also on the thread on which the lane's earlier action ended.
  ///
  /// - Parameter lane: The lane of the queue that runs the action.
  /// - Returns: The execution time in nanoseconds, by which the queue recognises short actions; zero for a withdrawn
  ///   action; `nil` when the work continues in a task, which calls ``ActionQueue/laneDidFinish(_:after:)`` at its end.
  func run(inLane lane: Int) -> UInt64?
}
