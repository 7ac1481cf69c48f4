import Coherence
import Synchronization

/// Records the submitted actions, in order: to show them while they run, and for the statistics.
package final class ActionLedger: Sendable {
  private let entries = Mutex<[any ActionProxy]>([])

  package init() {}

  package var proxies: [any ActionProxy] { entries.withLock { $0 } }

  /// The current work of the actions, in a few words.
  package var summary: String {
    let proxies = proxies
    let finished = proxies.count { $0.state == .finished }
    let running = proxies.filter { $0.state == .executing }.map { "\(type(of: $0.action))" }
    return "\(finished) \(finished == 1 ? "action" : "actions") done"
      + (running.isEmpty ? "" : ", \(running.joined(separator: ", ")) running")
  }

  func add(_ proxy: any ActionProxy) { entries.withLock { $0.append(proxy) } }
}
