import Dispatch
import Foundation

/// Calls a block when the user presses Control-C, or the process receives a request to terminate. A second request ends
/// the process at once.
package final class Interrupt: Sendable {
  // `init` sets the sources and `deinit` cancels them. Dispatch sources are safe to use from any thread.
  private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

  package init(_ block: @escaping @Sendable () -> Void) {
    sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        signal(number, SIG_DFL)
        block()
      }
      source.resume()
      return source
    }
  }

  deinit {
    for source in sources { source.cancel() }
  }
}
