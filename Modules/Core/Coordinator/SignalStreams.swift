import Synchronization

/// The streams of signals of a coordinator. Each stream listens to all attached stores.
final class SignalStreams: Sendable {
  /// One stream, with its listenings.
  private struct Entry {
    let channel: String
    let continuation: AsyncStream<Void>.Continuation
    /// The stores to which the stream listens, or is about to listen.
    var stores: Set<ObjectIdentifier> = []
    var listenings: [ObjectIdentifier: SignalListening] = [:]
  }
  private struct State {
    var entries: [Int: Entry] = [:]
    /// The number of the stream made last.
    var lastNumber = 0
  }
  private let state = Mutex(State())

  deinit {
    for entry in state.withLock({ Array($0.entries.values) }) { entry.continuation.finish() }
  }

  /// Makes a stream of a channel's signals, of the coordinator's present and later stores.
  ///
  /// - Parameter stores: Returns the stores attached at the time of the call.
  func makeStream(of channel: String, in stores: () -> [any PersistentStore]) -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.lastNumber += 1
      state.entries[state.lastNumber] = Entry(channel: channel, continuation: continuation)
      return state.lastNumber
    }
    continuation.onTermination = { [weak self] _ in self?.remove(number) }
    let attached = stores()
    for store in attached { listen(number, to: store) }
    // The stream may have begun to listen to a store after another thread detached the store.
    let remaining = stores()
    for store in attached where !remaining.contains(where: { $0 === store }) { storeRemoved(store) }
    return stream
  }

  private func remove(_ number: Int) {
    let removed = state.withLock { $0.entries.removeValue(forKey: number) }
    for listening in removed.map({ Array($0.listenings.values) }) ?? [] { listening.cancel() }
  }

  /// Has all streams listen to a newly attached store.
  func storeAdded(_ store: any PersistentStore) {
    for number in state.withLock({ Array($0.entries.keys) }) { listen(number, to: store) }
  }

  /// Has no stream listen to a detached store any more.
  func storeRemoved(_ store: any PersistentStore) {
    let id = ObjectIdentifier(store)
    let removed = state.withLock { state in
      var removed: [SignalListening] = []
      for number in state.entries.keys {
        state.entries[number]?.stores.remove(id)
        if let listening = state.entries[number]?.listenings.removeValue(forKey: id) { removed.append(listening) }
      }
      return removed
    }
    for listening in removed { listening.cancel() }
  }

  private func listen(_ number: Int, to store: any PersistentStore) {
    let id = ObjectIdentifier(store)
    let entry = state.withLock { state -> Entry? in
      guard state.entries[number]?.stores.insert(id).inserted == true else { return nil }
      return state.entries[number]
    }
    guard let entry else { return }
    let continuation = entry.continuation
    // A closed store throws. It is about to be detached, so that no stream needs to listen to it.
    guard let listening = try? store.listening(to: entry.channel, { continuation.yield() }) else { return }
    let isKept = state.withLock { state in
      guard state.entries[number]?.stores.contains(id) == true else { return false }
      state.entries[number]?.listenings[id] = listening
      return true
    }
    if !isKept { listening.cancel() }
  }
}

extension PersistentStore {
  /// Listens to a channel of the store, or of the process where the store carries no signals.
  fileprivate func listening(
    to channel: String, _ receive: @escaping @Sendable () -> Void
  ) throws -> SignalListening {
    if let store = self as? any StoreSignaling { return try store.listen(to: channel, receive) }
    return SignalHub.process.listen(to: processChannel(channel), receive)
  }

  /// Signals a channel of the store, or of the process where the store carries no signals.
  func send(_ channel: String) throws {
    if let store = self as? any StoreSignaling { return try store.signal(channel) }
    SignalHub.process.signal(processChannel(channel))
  }

  /// Signals the channels of a committed save where the store does not carry signals.
  func sendSignals(of request: StoreSaveRequest) {
    guard !request.signals.isEmpty, !(self is any StoreSignaling) else { return }
    SignalHub.process.signal(Set(request.signals.map(processChannel)))
  }

  /// The channel of the process for a channel of the store. Copies of a file have other channels.
  private func processChannel(_ channel: String) -> String {
    "\(identifier.rawValue)\n\(StoreIdentity.filePath(of: url) ?? "")\n\(channel)"
  }
}
