import Dispatch
import Foundation

/// Calls a block when the user presses Control-C, or the process is asked to end. A second time ends it at once.
final class Interrupt: Sendable {
  // Set once; between `init` and `deinit` only Dispatch uses the sources, which are safe to use from anywhere.
  private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

  init(_ block: @escaping @Sendable () -> Void) {
    // The sources are made here and cancelled at the end; in between only Dispatch uses them.
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
