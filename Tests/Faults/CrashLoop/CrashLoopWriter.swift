@testable import CoherenceConformance
import CoherenceCore
import Foundation
import Synchronization

/// A writer of a crash loop, on a thread of its own. It inserts, updates and deletes its own records until the loop
/// ends, and records the outcome of each save.
final class CrashLoopWriter: Sendable {
  private let number: Int
  private let context: ManagedObjectContext
  private let gate: CrashLoopGate
  private let state: Mutex<State>

  fileprivate struct State {
    var random: SplitMix64
    var expected = ExpectedRecords()
    var names = 0
    var tally = Tally()
  }

  /// Counts of the outcomes of saves, and of failed reads.
  struct Tally: Sendable {
    var acknowledged = 0
    var notApplied = 0
    var unknown = 0
    var failedReads = 0

    static func + (one: Tally, other: Tally) -> Tally {
      Tally(
        acknowledged: one.acknowledged + other.acknowledged, notApplied: one.notApplied + other.notApplied,
        unknown: one.unknown + other.unknown, failedReads: one.failedReads + other.failedReads)
    }
  }

  /// An error that no fault of a server or a link explains.
  private struct Complaint: Error {
    let sentence: String
  }

  init(_ number: Int, in store: CrashLoopStore, at gate: CrashLoopGate, seed: UInt64) {
    self.number = number
    self.gate = gate
    context = store.makeContext()
    state = Mutex(State(random: SplitMix64(seed: seed &+ UInt64(number))))
  }

  var expected: ExpectedRecords { state.withLock { $0.expected } }
  var tally: Tally { state.withLock { $0.tally } }

  func start() {
    Thread.detachNewThread {
      self.run()
      self.gate.leave()
    }
  }

  private func run() {
    do {
      while gate.pass() { try saveOnce() }
    } catch let complaint as Complaint {
      gate.complain("Writer \(number): \(complaint.sentence)")
    } catch {
      gate.complain("Writer \(number): \(error)")
    }
  }

  // MARK: Saving

  private func saveOnce() throws {
    let save = state.withLock { $0.draw(number) }
    do {
      try context.performAndWait { for change in save { try make(change) } }
    } catch let error as CoherenceError {
      reset()
      state.withLock { $0.tally.failedReads += 1 }
      return try excuse(error)
    }
    while true {
      do {
        try context.performAndWait { try context.save() }
        state.withLock { state in
          state.expected.acknowledge(save)
          state.tally.acknowledged += 1
        }
        gate.noteAcknowledgement(of: number)
        return
      } catch let error as CoherenceError {
        guard try isToBeSavedAgain(save, after: error) else { return reset() }
      }
    }
  }

  /// Records the outcome of a failed save.
  ///
  /// - Returns: Whether the save was not applied and is repeated unchanged.
  private func isToBeSavedAgain(_ save: [ExpectedRecords.Change], after error: CoherenceError) throws -> Bool {
    switch error.outcome {
    case .applied: throw Complaint(sentence: "An error says that the save was applied: \(error)")
    case .unknown:
      state.withLock { state in
        state.expected.doubt(save)
        state.tally.unknown += 1
      }
      try excuse(error)
      return false
    case .notApplied:
      let isTriedAgain = state.withLock { state in
        state.tally.notApplied += 1
        return state.random.chance(50)
      }
      try excuse(error)
      return gate.pass() && isTriedAgain
    }
  }

  /// Throws every error except those that a failing server or link causes.
  private func excuse(_ error: CoherenceError) throws {
    let excused: [ErrorCode] = [.connectionLost, .serverUnreachable, .storeBusy, .tooManyConnections]
    guard excused.contains(error.code) else {
      let cause = error.underlying.map { " (\($0))" } ?? ""
      throw Complaint(sentence: "\(error)\(cause)")
    }
    gate.awaitServer()
  }

  private func reset() { context.performAndWait { context.reset() } }

  // MARK: Changes

  private func make(_ change: ExpectedRecords.Change) throws {
    guard let before = change.before else {
      let entry = try context.insertNewObject(forEntityName: "Entry")
      try entry.setValue(change.name, for: "name")
      return try entry.setValue(change.after, for: "number")
    }
    guard let entry = try entry(change.name) else {
      throw Complaint(sentence: "'\(change.name)' was acknowledged with \(before), and is missing.")
    }
    let stored = try entry.value(for: "number", as: Int64.self)
    guard stored == before else {
      throw Complaint(sentence: "'\(change.name)' was acknowledged with \(before), and is \(stored).")
    }
    if let after = change.after {
      try entry.setValue(after, for: "number")
    } else {
      context.delete(entry)
    }
  }

  private func entry(_ name: String) throws -> ManagedObject? {
    var request = FetchRequest<ManagedObject>(entityName: "Entry")
    request.predicate = .comparison(.path(PropertyPath("name")), .equal, .value(.string(name)), [])
    return try context.fetch(request).first
  }
}

extension CrashLoopWriter.State {
  /// The number of records from which a save also deletes records.
  private static let fullness = 12

  /// Draws the changes of the next save: new records, and updates and deletions of existing ones.
  fileprivate mutating func draw(_ writer: Int) -> [ExpectedRecords.Change] {
    var save: [ExpectedRecords.Change] = []
    for _ in 0..<random.number(1...3) {
      names += 1
      save.append(.init(name: "\(writer)-\(names)", before: nil, after: Int64(random.number(0...1_000_000))))
    }
    let numbers = expected.numbers
    for name in random.some(numbers.keys.sorted(), upTo: 4) {
      guard let number = numbers[name] else { continue }
      let isDeleted = numbers.count >= Self.fullness && random.chance(60)
      save.append(.init(name: name, before: number, after: isDeleted ? nil : number + 1))
    }
    return save
  }
}
