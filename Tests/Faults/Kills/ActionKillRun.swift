@testable import CoherenceConformance
import Foundation

/// Kills workers of one store, while two workers share its actions.
final class ActionKillRun {
  struct Summary: Sendable, CustomStringConvertible {
    var kills = 0
    var acknowledged = 0
    var resumed = 0
    var repeatedCalls = 0
    var complaints: [String] = []
    var duration = Duration.zero

    var description: String {
      "\(kills) kills, \(acknowledged) acknowledged actions, \(resumed) resumed, \(repeatedCalls) calls repeated, in "
        + "\(duration)"
    }
  }

  private let stage: KillStage
  private let place: LedgerPlace
  private var random: SplitMix64
  private var expectation = ActionExpectation()
  private var round = 0
  private var contents: KillContents?
  private(set) var summary = Summary()

  init(_ place: LedgerPlace, seed: UInt64) throws {
    self.place = place
    random = SplitMix64(seed: seed)
    stage = try KillStage(2)
  }

  /// Kills one of the two workers at a time, and replaces it by a new worker while the other worker continues.
  func run(kills: Int) throws {
    let start = ContinuousClock.now
    try stage.start(command(.act), on: 0)
    try stage.start(command(.act), on: 1)
    while summary.kills < kills {
      let victim = random.number(0...1)
      let kill = KillStage.Kill(
        index: victim, delay: .microseconds(random.number(0...60_000)), followsMessage: random.chance(90))
      let ended = try stage.serve(killing: kill, treat)
      guard check(ended) else { break }
      if summary.kills < kills { try stage.start(command(.act), on: ended.index) }
    }
    // Kills both workers, so that a last worker has to take over their actions.
    for index in 0...1 { stage.kill(index) }
    if summary.complaints.isEmpty, check(try stage.serve(treat)) { try settle() }
    summary.duration = start.duration(to: .now)
    summary.acknowledged = expectation.acknowledged
    summary.resumed = expectation.resumed
    summary.repeatedCalls = expectation.repeatedCalls
  }

  private func command(_ work: KillCommand.Work) -> KillCommand {
    round += 1
    return KillCommand(
      work: work, place: place, socket: stage.socket, seed: random.next(), firstNumber: round * 1000)
  }

  private func check(_ ended: (index: Int, end: PreparedProcess.End)) -> Bool {
    guard ended.end == .killed(by: SIGKILL) else {
      summary.complaints += ["A client ended: \(ended.end)"] + expectation.complaints
      return false
    }
    summary.kills += 1
    return true
  }

  /// Runs all actions to their end, and compares their effects.
  private func settle() throws {
    try stage.start(command(.settleActions), on: 0)
    let ended = try stage.serve(treat)
    guard ended.end == .exited(0), let contents else {
      return summary.complaints += ["The last client ended: \(ended.end)"] + expectation.complaints
    }
    summary.complaints += expectation.complaints(about: contents)
  }

  private func treat(_ message: KillMessage) -> KillStage.Treatment {
    if message.kind == .contents { contents = message.contents }
    expectation.note(message)
    return .answer(KillAnswer())
  }
}
