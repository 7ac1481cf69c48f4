/// The scheduler of an action as the action's handle sees it. Handles know nothing else about the dispatcher, which knows
/// handles.
protocol ActionScheduler: AnyObject, Sendable {
  /// Calls the program's blocks, which may block, on threads of its own; completion blocks have their own queue.
  var callbacks: CallbackQueue { get }

  // MARK: Events

  /// Publishes the start of the action: of its first attempt, or before its end for an action that never runs.
  func didStart(_ handle: AnyActionHandle)
  /// Publishes that another attempt follows after a delay.
  func willRetry(_ handle: AnyActionHandle, attempt: Int, delay: Duration)
  /// Publishes that the action has succeeded with unsaved changes in its context.
  func didLeaveUnsavedChanges(_ handle: AnyActionHandle)
  /// Releases everything that the finished action holds, and publishes the end. Called once.
  ///
  /// - Parameter laneContinues: Whether the lane of the action looks for its next action after this call.
  func didFinish(_ handle: AnyActionHandle, completions: [ActionCompletion], laneContinues: Bool)

  // MARK: Waiting

  /// Removes an action that finishes without another attempt from its queue, and from the actions that wait for the
  /// start.
  func withdraw(_ handle: AnyActionHandle)
  /// Whether a stop waits for the action while the queue of the action is suspended.
  func isStuck(_ handle: AnyActionHandle) -> Bool
  /// Schedules the next attempt. The delay has passed.
  func resume(_ handle: AnyActionHandle)
  /// Calls a block after a time, unless the returned task is cancelled before.
  func after(_ time: Duration, _ block: @escaping @Sendable () -> Void) -> Task<Void, Never>
}
