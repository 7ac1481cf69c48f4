import CoherenceCore

/// All stores that share a content share its listeners.
extension InMemoryStore: StoreSignaling {
  func signal(_ channel: String) throws { try writableContent().signals.signal(channel) }

  func listen(to channel: String, _ receive: @escaping @Sendable () -> Void) throws -> SignalListening {
    try openContent().signals.listen(to: channel, receive)
  }
}
