import Coherence
import Synchronization

/// Remembers the actions that were submitted, in order, for the statistics.
package final class ActionLedger: Sendable {
  private let entries = Mutex<[any ActionProxy]>([])

  package init() {}

  package var proxies: [any ActionProxy] { entries.withLock { $0 } }

  func add(_ proxy: any ActionProxy) { entries.withLock { $0.append(proxy) } }
}
