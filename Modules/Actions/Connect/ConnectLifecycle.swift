/// The state of a Connect, and the running stop.
struct ConnectLifecycle {
  private(set) var state = ConnectState.stopped
  /// There while stopping.
  private(set) var stop: ConnectStop?
  /// The starts that wait for the stop to end. A stop called for after them comes after them.
  var startsInLine = 0

  /// Takes a transition, if it is legal now.
  mutating func take(_ transition: ConnectTransition, stop: ConnectStop? = nil) -> Bool {
    guard let target = transition.target(from: state) else { return false }
    state = target
    self.stop = stop
    return true
  }
}
