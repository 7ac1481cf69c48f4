import Synchronization

/// The listeners of a store's channels in this process.
///
/// A store that receives signals of other processes gives the hub a ``SignalSource``, which runs while the hub has
/// listeners.
package final class SignalHub: Sendable {
  private struct Listener {
    let channel: String
    let receive: @Sendable () -> Void
  }
  private struct State {
    var listeners: [Int: Listener] = [:]
    var lastNumber = 0
    var source: (any SignalSource)?
    var isClosed = false
  }
  private let state = Mutex(State())

  /// The listeners of stores without ``StoreSignaling``. Their channels begin with the store's identity.
  static let process = SignalHub()

  package init() {}

  deinit { close() }

  /// Adds a listener, and starts the source for the first listener.
  ///
  /// - Parameters:
  ///   - receive: Called for each signal, and once when the hub begins to receive signals: at once, or as soon as the
  ///     source listens.
  ///   - makeSource: Starts the source of signals of other processes; returns `nil` for a hub without a source. Called
  ///     under the hub's lock.
  package func listen(
    to channel: String, _ receive: @escaping @Sendable () -> Void,
    startingSource makeSource: () -> (any SignalSource)? = { nil }
  ) -> SignalListening {
    let (number, source) = state.withLock { state -> (Int?, (any SignalSource)?) in
      guard !state.isClosed else { return (nil, nil) }
      state.lastNumber += 1
      state.listeners[state.lastNumber] = Listener(channel: channel, receive: receive)
      if state.source == nil { state.source = makeSource() }
      return (state.lastNumber, state.source)
    }
    guard let number else { return SignalListening {} }
    // A source that begins to listen after this check calls all listeners, the new listener included.
    if source?.isListening ?? true { receive() }
    return SignalListening { [weak self] in self?.remove(number) }
  }

  private func remove(_ number: Int) {
    let (removed, source) = state.withLock { state -> (Listener?, (any SignalSource)?) in
      let removed = state.listeners.removeValue(forKey: number)
      guard state.listeners.isEmpty else { return (removed, nil) }
      defer { state.source = nil }
      return (removed, state.source)
    }
    source?.stop()
    // Released outside the lock, because the closure may have the last reference to an object.
    withExtendedLifetime(removed) {}
  }

  /// Calls the listeners of a channel.
  package func signal(_ channel: String) { call { $0.channel == channel } }

  /// Calls the listeners of several channels.
  package func signal(_ channels: Set<String>) {
    guard !channels.isEmpty else { return }
    call { channels.contains($0.channel) }
  }

  /// Calls all listeners, because signals of any channel may have been missed.
  package func signalAll() { call { _ in true } }

  private func call(_ isChosen: (Listener) -> Bool) {
    for listener in state.withLock({ Array($0.listeners.values) }) where isChosen(listener) { listener.receive() }
  }

  /// Removes all listeners, and accepts no more.
  package func close() {
    let former = state.withLock { state in
      let former = state
      state = State()
      state.isClosed = true
      return former
    }
    former.source?.stop()
    withExtendedLifetime(former.listeners) {}
  }
}

/// A source of signals of other processes, for one ``SignalHub``. Runs from its initialization until ``stop()``.
package protocol SignalSource: AnyObject, Sendable {
  /// Whether signals sent from now on arrive.
  var isListening: Bool { get }
  /// Ends the source, without waiting for its end.
  func stop()
}
