import Synchronization

/// Counts the faults of a block, in all contexts that the block uses.
final class FaultRecorder: Sendable {
  /// The recorder of the running block.
  @TaskLocal static var current: FaultRecorder?

  /// A unit of work of a context.
  struct Unit: Equatable {
    /// An object that identifies the context. Retained, so that no later context reuses its address.
    let context: any AnyObject & Sendable
    let number: Int

    static func == (left: Unit, right: Unit) -> Bool { left.context === right.context && left.number == right.number }
  }

  private let counts = Mutex<[(unit: Unit, counts: FaultCounts)]>([])

  /// Counts a fault in a unit of work.
  func note(_ subject: FaultSubject, in unit: Unit) {
    counts.withLock { counts in
      if let index = counts.lastIndex(where: { $0.unit == unit }) {
        _ = counts[index].counts.note(subject)
      } else {
        var first = FaultCounts()
        _ = first.note(subject)
        counts.append((unit, first))
      }
    }
  }

  func repetitions(beyond limit: Int) -> [RepeatedFaults] {
    counts.withLock { $0 }.flatMap { $0.counts.repetitions(beyond: limit) }
  }
}

/// Runs a block, and throws if the block loads more than `limit` faults of one entity, or of one relationship, one by
/// one in one unit of work. For tests.
///
/// ```swift
/// try expectNoRepeatedFaults {
///   try context.performAndWait { try report(in: context) }
/// }
/// ```
/// Counts the faults of every context that the block uses on its own thread or in its own task.
///
/// - Parameters:
///   - limit: The greatest number of faults of one entity or relationship in a unit of work.
///   - file: The file of the call, for the message.
///   - line: The line of the call, for the message.
/// - Returns: The result of the block.
/// - Throws: The error of the block; ``ErrorCode/repeatedFaults`` with each entity, relationship, number, and the line
///   of the program that caused the first read.
@discardableResult
public func expectNoRepeatedFaults<T>(
  limit: Int = 3, file: StaticString = #fileID, line: UInt = #line, _ body: () throws -> T
) throws -> T {
  let recorder = FaultRecorder()
  let result = try FaultRecorder.$current.withValue(recorder, operation: body)
  try recorder.check(limit, "\(file):\(line)")
  return result
}

/// Runs an asynchronous block, and throws if the block loads more than `limit` faults of one entity, or of one
/// relationship, one by one in one unit of work. For tests.
///
/// - Parameters:
///   - limit: The greatest number of faults of one entity or relationship in a unit of work.
///   - file: The file of the call, for the message.
///   - line: The line of the call, for the message.
/// - Returns: The result of the block.
/// - Throws: The error of the block; ``ErrorCode/repeatedFaults``.
@discardableResult
public func expectNoRepeatedFaults<T>(
  limit: Int = 3, file: StaticString = #fileID, line: UInt = #line, isolation: isolated (any Actor)? = #isolation,
  _ body: () async throws -> T
) async throws -> T {
  let recorder = FaultRecorder()
  let result = try await FaultRecorder.$current.withValue(recorder, operation: body)
  try recorder.check(limit, "\(file):\(line)")
  return result
}

extension FaultRecorder {
  /// Throws when an entity or a relationship has more faults than the limit.
  ///
  /// - Throws: ``ErrorCode/repeatedFaults``.
  fileprivate func check(_ limit: Int, _ location: String) throws(CoherenceError) {
    let repetitions = repetitions(beyond: limit)
    guard !repetitions.isEmpty else { return }
    throw CoherenceError(
      .repeatedFaults,
      "The block at \(location) loads faults one by one: \(repetitions.map(\.description).joined(separator: " ")) "
        + "Fetch the objects together, and prefetch the relationship.")
  }
}
