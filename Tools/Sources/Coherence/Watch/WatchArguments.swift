import ArgumentParser
import Foundation
import Interrupts

/// The options of the `watch` commands.
struct WatchArguments: ParsableArguments {
  @Option(help: "The time between two reads of the store, for example 500ms or 2s.")
  var interval = Interval(.seconds(1))

  @Option(help: "End after a number of reads of the store.")
  var looks: Int?

  func validate() throws {
    if let looks, looks < 1 { throw ValidationError("The number of reads (--looks) is at least 1.") }
  }

  /// Shows the records for the given number of reads, or until the user presses Control-C.
  func watch(
    json: Bool, stateOfRemoved: @escaping @Sendable (WatchedRow) async throws -> String = { _ in "removed" },
    _ read: @escaping @Sendable () async throws -> WatchedRows
  ) async throws {
    let watcher = Watcher(interval: interval.duration, readLimit: looks, isJSON: json, stateOfRemoved: stateOfRemoved)
    let task = Task { try await watcher.run(read) }
    let interrupt = Interrupt { task.cancel() }
    defer { withExtendedLifetime(interrupt) {} }
    try await task.value
  }
}

/// The time between two reads of the store.
struct Interval: ExpressibleByArgument {
  let duration: Duration

  init(_ duration: Duration) { self.duration = duration }

  init?(argument: String) {
    let milliseconds = argument.hasSuffix("ms") ? Double(argument.dropLast(2)) : nil
    let seconds = argument.hasSuffix("s") ? Double(argument.dropLast()) : Double(argument)
    guard let value = milliseconds ?? seconds.map({ $0 * 1000 }), value >= 10, value <= 86_400_000 else { return nil }
    duration = .milliseconds(Int(value))
  }

  var defaultValueDescription: String { "\(Int(duration / .seconds(1)))s" }
}
