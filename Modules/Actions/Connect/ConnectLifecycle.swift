/// The state of a Connect, with the present stop.
struct ConnectLifecycle {
  private(set) var state = ConnectState.stopped
  /// The present stop; `nil` in other states than `stopping`.
  private(set) var stop: ConnectStop?
  /// The number of asynchronous starts that wait for the present stop. A later asynchronous stop follows these starts,
  /// and must not join the present stop. A blocking stop joins the present stop in any case.
  var waitingStartCount = 0

  /// Applies a transition, if it is legal in the present state.
  ///
  /// - Returns: Whether the transition was legal.
  mutating func apply(_ transition: ConnectTransition, stop: ConnectStop? = nil) -> Bool {
    guard let target = transition.target(from: state) else { return false }
    state = target
    self.stop = stop
    return true
  }
}
