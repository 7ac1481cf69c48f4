public import CoherenceActions
import CoherenceCore
import CoherenceStrategies
public import Logging
public import ServiceLifecycle

/// A ``Connect`` as a service of a server: started with the service group, and stopped at its shutdown.
///
/// ```swift
/// let group = ServiceGroup(
///   services: [ConnectService(connect, drainLimit: .seconds(20)), webServer], gracefulShutdownSignals: [.sigterm],
///   logger: logger)
/// try await group.run()
/// ```
///
/// A group shuts its services down in reverse order: put the Connect before the services that submit actions, so that it
/// stops after them.
///
/// A graceful shutdown drains the actions until the drain limit, and then cancels the unfinished actions. A cancelled task
/// cancels the actions at once. When `run` returns without an error, all actions have finished and the stores are closed.
///
/// After the cancel limit, an action that ignores its cancellation makes `run` throw. The stores stay open for that action.
public struct ConnectService: Service {
  private let connect: any Connect
  private let drainLimit: Duration
  private let cancelLimit: Duration
  private let logger: Logger

  /// Makes a service. The Connect is not started yet.
  ///
  /// - Parameters:
  ///   - connect: A stopped Connect.
  ///   - drainLimit: The longest time that actions may run after the start of the shutdown.
  ///   - cancelLimit: The longest time that actions may run after their cancellation. The service group's own limit must not
  ///     be shorter than both limits together.
  ///   - logger: Logs a shutdown that exceeds a limit.
  public init(
    _ connect: any Connect, drainLimit: Duration = .seconds(30), cancelLimit: Duration = .seconds(10),
    logger: Logger = Logger(label: "coherence.service")
  ) {
    self.connect = connect
    self.drainLimit = drainLimit
    self.cancelLimit = cancelLimit
    self.logger = logger
  }

  /// Starts the Connect, waits for the shutdown, and stops the Connect. Called by the service group.
  ///
  /// - Throws: The errors of starting and stopping; ``ErrorCode/timedOut`` when actions ignore their cancellation. A failed
  ///   start has attached no store.
  public func run() async throws {
    try await connect.start()
    do {
      try await gracefulShutdown()
    } catch {
      // The task was cancelled: no graceful shutdown.
      return try await cancel()
    }
    try await drain()
  }

  /// Waits for the actions until the drain limit, and cancels the unfinished ones.
  private func drain() async throws {
    do {
      try await connect.stop(.drain, within: drainLimit)
    } catch ErrorCode.timedOut {
      logger.warning(
        "Actions took longer than the shutdown allows and are cancelled.",
        metadata: ["connect": "\(connect.name)", "limit": "\(drainLimit)"])
      try await cancel()
    }
  }

  /// Cancels the actions, and waits for their ends until the cancel limit.
  private func cancel() async throws {
    do {
      try await connect.stop(.cancel, within: cancelLimit)
    } catch let error where ErrorCode.timedOut ~= error {
      logger.error(
        "Actions ignore their cancellation: the shutdown continues without them, and their stores are not closed.",
        metadata: ["connect": "\(connect.name)", "limit": "\(cancelLimit)"])
      throw error
    }
  }
}
