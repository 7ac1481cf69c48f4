extension StoreCore {
  /// Ends all observations that there are, when the transaction is over; not those that begin from now on.
  func endObservations() {
    record { [self, ending] in self.ending = ending }
    ending += observerGroups.values.map { ($0, $0.all) }
    hasWork = true
  }

  /// Nobody is told of the transaction whose observation ends with it.
  func endScheduledObservations() {
    guard !ending.isEmpty else { return }
    let marked = ending
    ending = []
    for (group, observations) in marked {
      for observation in observations where observation.end() {
        group.removeEnded(observation)
        if let onEnd = observation.onEnd { deferred.events.append { onEnd() } }
      }
    }
  }
}
