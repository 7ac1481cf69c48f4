import CoherencePersistedActions

extension AsyncStream<PersistedActionEvent> {
  /// Returns the first events.
  func first(_ count: Int) async -> [PersistedActionEvent] {
    var events: [PersistedActionEvent] = []
    for await event in self {
      events.append(event)
      if events.count == count { break }
    }
    return events
  }
}
