import CoherenceActions
import CoherenceCore

import Foundation

/// Work that the store keeps until a worker has done it. Any process with the store open may run the worker.
///
/// ```swift
/// struct SendInvoice: PersistedAction {
///   let number: Int
///
///   func run(in context: PersistedActionContext) async throws {
///     try await mail.send(invoice: number)
///   }
/// }
///
/// order.isPaid = true
/// try context.enqueue(SendInvoice(number: order.number))
/// try context.save()
/// ```
/// The properties are the payload, stored as JSON. The action exists if the save of its context commits, and runs at
/// least once: again after a failure, and again when its process ended in the middle. Work on records of the same store
/// that runs in ``PersistedActionContext/commit(_:)`` takes effect exactly once.
public protocol PersistedAction: Codable, Sendable {
  /// The name of the action in the store, unique among the actions of a program; by default the name of the type.
  static var name: String { get }
  /// The names of this action in earlier versions of the program, whose stored actions and schedules run too; by
  /// default none.
  static var formerNames: [String] { get }
  /// The queue of an action whose enqueueing names no queue; by default ``PersistedActionQueue/defaultName``.
  static var queue: String { get }
  /// The retry policy of an action whose enqueueing names no policy; by default ``PersistedRetry/standard``.
  static var retry: PersistedRetry { get }
  /// Whether another attempt follows an error. An action whose error is final is parked. By default the rule of
  /// `RetryPolicy.isTransient`. Called on any thread. The error of a commit or a checkpoint whose outcome is unknown
  /// comes as a retryable one that was not applied, because a save that the store has is not repeated.
  static func isRetryable(_ error: any Error) -> Bool

  /// Does the work, in a task of its own. A thrown error fails the attempt; a ``PersistedActionExit`` delays the next
  /// attempt, postpones the action or parks it.
  ///
  /// - Parameter context: The attempt: checkpoint, progress, result, and contexts of the container.
  func run(in context: PersistedActionContext) async throws
}

extension PersistedAction {
  public static var name: String { "\(Self.self)" }
  public static var formerNames: [String] { [] }
  public static var queue: String { PersistedActionQueue.defaultName }
  public static var retry: PersistedRetry { .standard }
  public static func isRetryable(_ error: any Error) -> Bool { RetryPolicy.isTransient(error) }
}
