public import CoherenceActions
import CoherenceCore
import CoherenceStrategies
public import Logging
public import ServiceLifecycle

/// A ``Connect`` as a service of a server: started when the service group runs, stopped when it shuts down.
///
/// ```swift
/// let group = ServiceGroup(
///   services: [ConnectService(connect, drainLimit: .seconds(20)), webServer], gracefulShutdownSignals: [.sigterm],
///   logger: logger)
/// try await group.run()
/// ```
///
/// A group shuts its services down in reverse order: put the Connect in front of the services that submit actions, and
/// it goes after them.
///
/// On graceful shutdown the actions run to their end for as long as the limit allows; what is not finished then is
/// canceled and waited for. When the task is cancelled, actions are canceled at once. Either way the stores are closed
/// when `run` returns, and no action is left on them.
///
/// An action that ignores its cancellation is not waited for without end: when the second limit is over, `run` throws, and
/// leaves the action the stores that it works on.
public struct ConnectService: Service {
  private let connect: any Connect
  private let drainLimit: Duration
  private let cancelLimit: Duration
  private let logger: Logger

  /// - Parameters:
  ///   - connect: A Connect that is not started, with its stores attached or to be attached at the start.
  ///   - drainLimit: How long actions may go on after shutdown began.
  ///   - cancelLimit: How long actions may go on after they were canceled. Give the service group no less than both limits
  ///     together.
  public init(
    _ connect: any Connect, drainLimit: Duration = .seconds(30), cancelLimit: Duration = .seconds(10),
    logger: Logger = Logger(label: "coherence.service")
  ) {
    self.connect = connect
    self.drainLimit = drainLimit
    self.cancelLimit = cancelLimit
    self.logger = logger
  }

  /// Starts, waits for the end, and stops.
  ///
  /// - Throws: What starting and stopping throw: ``ErrorCode/timedOut`` when actions ignore their cancellation. A start
  ///   that failed has attached nothing.
  public func run() async throws {
    try await connect.start()
    do {
      try await gracefulShutdown()
    } catch {
      // Cancelled, not asked politely.
      return try await cancel()
    }
    try await drain()
  }

  private func drain() async throws {
    do {
      try await connect.stop(.drain, within: drainLimit)
    } catch ErrorCode.timedOut {
      logger.warning(
        "Actions took longer than the shutdown allows and are canceled.",
        metadata: ["connect": "\(connect.name)", "limit": "\(drainLimit)"])
      try await cancel()
    }
  }

  private func cancel() async throws {
    do {
      try await connect.stop(.cancel, within: cancelLimit)
    } catch let error where ErrorCode.timedOut ~= error {
      logger.error(
        "Actions ignore their cancellation: the shutdown goes on without them, and their stores are not closed.",
        metadata: ["connect": "\(connect.name)", "limit": "\(cancelLimit)"])
      throw error
    }
  }
}
