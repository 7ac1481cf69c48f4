@testable import CoherenceConformance
import Foundation

/// Kills clients of one store that edit records and forward the edits.
final class ForwardingKillRun {
  struct Summary: Sendable, CustomStringConvertible {
    var kills = 0
    var acknowledged = 0
    var applied = 0
    var repetitions = 0
    var pages = 0
    var complaints: [String] = []
    var duration = Duration.zero

    var description: String {
      "\(kills) kills, \(acknowledged) acknowledged saves, \(applied) requests applied, \(repetitions) repeated, "
        + "\(pages) pages, in \(duration)"
    }
  }

  private let stage: KillStage
  private let place: LedgerPlace
  private var random: SplitMix64
  private var server = KillServer()
  private var expectation = KillExpectation()
  private var round = 0
  private(set) var summary = Summary()
  /// The number of requests before the next kill by a request, and whether the server applies that request before the
  /// kill.
  private var trap: (rest: Int, afterwards: Bool)?
  private var contents: KillContents?

  init(_ place: LedgerPlace, seed: UInt64) throws {
    self.place = place
    random = SplitMix64(seed: seed)
    stage = try KillStage(2)
  }

  /// Kills clients. Compares the store and the server after every twentieth kill.
  func run(kills: Int) throws {
    let start = ContinuousClock.now
    while summary.kills < kills, summary.complaints.isEmpty {
      try killOne()
      if summary.kills.isMultiple(of: 20) || summary.kills == kills { try settle() }
    }
    summary.duration = start.duration(to: .now)
    summary.acknowledged = expectation.acknowledged
    summary.applied = server.applied
    summary.repetitions = server.repetitions
    summary.complaints += server.complaints
  }

  private func command(_ work: KillCommand.Work) -> KillCommand {
    round += 1
    // The date of each client is after the ends of all earlier leases, so that it can claim every edit.
    return KillCommand(
      work: work, place: place, socket: stage.socket, seed: random.next(), firstNumber: round * 1000,
      date: 1_700_000_000 + Double(round) * 61)
  }

  /// Starts a client and kills it. Sometimes a second client forwards edits at the same time.
  private func killOne() throws {
    trap = nil
    var command = command(.edit)
    var kill: KillStage.Kill?
    switch random.number(0...9) {
    case 0..<4:
      let step = random.pick(KillStep.all)
      (command.step, command.count) = (step, random.number(1...4))
    case 4..<6: trap = (random.number(0...4), random.chance(50))
    default:
      kill = KillStage.Kill(
        index: 0, delay: .microseconds(random.number(0...60_000)), followsMessage: random.chance(60))
    }
    let hasCompanion = random.chance(25)
    if hasCompanion {
      // The second client may send the edits first, so that the first client never reaches the step of its kill.
      (command.step, trap) = (nil, nil)
      kill = KillStage.Kill(index: 0, delay: .microseconds(random.number(0...60_000)))
    }
    try stage.start(command, on: 0)
    if hasCompanion { try stage.start(companion(of: command), on: 1) }
    var ended = try stage.serve(killing: kill, treat)
    if hasCompanion {
      stage.kill(1 - ended.index)
      ended = check(ended) ? try stage.serve(treat) : ended
    }
    _ = check(ended)
  }

  /// A second client that forwards edits or merges pages. The clock of the merges is that of the edits.
  private func companion(of editor: KillCommand) -> KillCommand {
    guard random.chance(60) else { return command(.forward) }
    var command = command(.merge)
    command.date = editor.date
    return command
  }

  /// Counts a kill.
  private func check(_ ended: (index: Int, end: PreparedProcess.End)) -> Bool {
    guard ended.end == .killed(by: SIGKILL) else {
      summary.complaints.append("A client ended: \(ended.end)")
      return false
    }
    summary.kills += 1
    return true
  }

  /// Forwards everything, and compares the store, the server and the acknowledged saves.
  private func settle() throws {
    trap = nil
    contents = nil
    try stage.start(command(.settle), on: 0)
    let ended = try stage.serve(treat)
    guard ended.end == .exited(0), let contents else {
      return summary.complaints.append("The last client ended: \(ended.end)")
    }
    summary.complaints += contents.entries.map { "An entry is left: \($0)" }
    let ids = Set(contents.records.keys).union(server.records.keys)
    for id in ids.sorted() where contents.records[id] != server.records[id] {
      let (local, remote) = (contents.records[id], server.records[id])
      summary.complaints.append("The store has \(text(local)) for \(id), and the server \(text(remote))")
    }
    summary.complaints += expectation.complaints(about: contents.records.values)
  }

  private func text(_ record: KillRecord?) -> String {
    record.map { "\($0.tag), rank \($0.rank), folder '\($0.folder)'" } ?? "no record"
  }

  private func treat(_ message: KillMessage) -> KillStage.Treatment {
    switch message.kind {
    case .willSave: expectation.willSave(message.number, message.changes)
    case .didSave: expectation.didSave(message.number)
    case .contents: contents = message.contents
    case .failure: summary.complaints.append(message.text)
    case .request:
      guard let request = message.request else { break }
      guard let trap else { return .answer(server.receive(request)) }
      self.trap = (trap.rest - 1, trap.afterwards)
      if trap.rest > 0 { return .answer(server.receive(request)) }
      if trap.afterwards { _ = server.receive(request) }
      return .kill
    case .page:
      summary.pages += 1
      return .answer(KillAnswer(page: server.records))
    case .effect, .begin, .checkpoint: break
    }
    return .answer(KillAnswer())
  }
}
