import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import Logging

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A program with a store, in a process that the test kills.
struct KillClient: Sendable {
  typealias Container = GenericConnect<ContextStrategy.Mixed>

  let command: KillCommand

  init(_ command: KillCommand) { self.command = command }

  /// Runs until the end of the process.
  func run() -> Never {
    Task.detached {
      do {
        switch command.work {
        case .edit, .forward, .settle: try await KillEditor(self).run()
        case .merge: try await KillMerger(self).run()
        case .act, .settleActions: try await KillActor(self).run()
        }
        _exit(0)
      } catch {
        _ = try? tell(.failure) { $0.text = "\(error)" }
        _exit(1)
      }
    }
    // `dispatchMain` needs the main thread in `main`, which the process has not reached.
    while true { pause() }
  }

  /// Opens the store.
  func open() throws -> Container {
    var logger = Logger(label: "killed process")
    logger.logLevel = .critical
    let container = Container(
      name: "Kills", managedObjectModel: KillModel.model, storeLocation: command.place.url.deletingLastPathComponent(),
      logger: logger)
    try container.attachPersistentStore(for: command.place.clientConfiguration)
    return container
  }

  /// Sends a message to the test, and waits for the reply.
  @discardableResult
  func tell(_ kind: KillMessage.Kind, _ change: (inout KillMessage) -> Void) throws -> KillAnswer {
    var message = KillMessage(process: getpid(), kind: kind)
    change(&message)
    let answer = try UnixSocket.exchange(try JSONEncoder().encode(message), at: command.socket)
    return try JSONDecoder().decode(KillAnswer.self, from: answer)
  }

  /// Kills the process at once.
  static func die() -> Never {
    kill(getpid(), SIGKILL)
    while true { pause() }
  }
}
