extension StoreCore {
  /// Ends all present observations with the transaction. Later observations continue.
  func endObservations() {
    let former = observers.ending
    record { [self] in observers.ending = former }
    observers.scheduleEnd()
    pending.requireCommit()
  }

  /// Ends the scheduled observations. They are not notified of the transaction that ends them.
  func endScheduledObservations() {
    guard !observers.ending.isEmpty else { return }
    for (group, observations) in observers.takeEnding() {
      for observation in observations where observation.end() {
        group.removeEnded(observation)
        if let onEnd = observation.onEnd { pending.addEvent { onEnd() } }
      }
    }
  }
}
