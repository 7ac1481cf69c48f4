import Coherence
import DemoClient
import Foundation

/// One run of the demo, from the first read of the store to the last line of the report.
@MainActor
final class Session {
  private let stack: DemoStack
  private let service: ServiceClient
  private let terminal: Terminal
  private let options: Run
  private let ledger = ActionLedger()
  private var progress: ProgressLine
  private var lastStep: SyncStep?

  nonisolated init(stack: DemoStack, service: ServiceClient, terminal: Terminal, options: Run) {
    self.stack = stack
    self.service = service
    self.terminal = terminal
    self.options = options
    progress = ProgressLine(isInteractive: terminal.isInteractive)
  }

  func run() async throws {
    let view = try LiveView(stack)
    let before = try await RowVersions(of: stack)
    let start = ContinuousClock.now
    let (edited, outcome) = try await synchronize(view)
    let time = (ContinuousClock.now - start) / .seconds(1)
    let report = RunReport(stack)
    terminal.paragraph(
      ["Synchronised in \(String(format: "%.2f", time)) s."] + (try report.pages()) + followed(view)
        + remarks(outcome))
    let after = try await RowVersions(of: stack)
    terminal.paragraph(try report.changes(from: before, to: after, edited: edited))
    tellStatistics()
    terminal.paragraph(try report.graph(needsOf: options.needs))
  }

  private func synchronize(_ view: LiveView) async throws -> (edited: [String], outcome: SyncOutcome) {
    let sync = CatalogSync(stack, service: service, pageSize: options.pageSize, ledger: ledger) { step in
      await self.show(step, view)
    }
    do {
      let edited = options.edit > 0 ? try await sync.edit(options.edit) : []
      if !edited.isEmpty { terminal.write("Edited at the service: \(edited.joined(separator: ", "))\n") }
      return (edited, try await sync.run())
    } catch {
      tellWhereItStopped(view)
      throw error
    }
  }

  private func show(_ step: SyncStep, _ view: LiveView) async {
    lastStep = step
    terminal.write(progress.text(for: step, note: "the view has \(count(view)) packages · \(ledger.summary)"))
    guard step.phase == .pulling, options.pause > 0 else { return }
    try? await Task.sleep(for: .milliseconds(options.pause))
  }

  private func count(_ view: LiveView) -> String { (try? view.count()).map { "\($0)" } ?? "unknown" }

  private func followed(_ view: LiveView) -> [String] {
    guard let tally = try? view.tally() else { return [] }
    let more = tally.isOverrun ? " and more" : ""
    return [
      "The view followed live: \(tally.inserted) packages came in, \(tally.refreshed) it showed were refreshed, "
        + "\(tally.deleted) went\(more); it has \(count(view)) now."
    ]
  }

  private func remarks(_ outcome: SyncOutcome) -> [String] {
    var lines: [String] = []
    if outcome.relinked > 0 { lines.append("The dependencies of \(outcome.relinked) packages changed.") }
    if !outcome.isComplete {
      lines.append("The catalog changed while it was pulled, so nothing was deleted; run again to be complete.")
    }
    return lines
  }

  private func tellWhereItStopped(_ view: LiveView) {
    let place = lastStep.map { "after \($0.phase.rawValue.lowercased()) \($0.done)/\($0.total)" } ?? "at the beginning"
    terminal.paragraph([
      "Stopped \(place): \(count(view)) packages are in the store. Run again, and it goes on from there."
    ])
    tellStatistics()
  }

  private func tellStatistics() {
    guard !ledger.proxies.isEmpty else { return }
    terminal.paragraph(
      ["What the actions did, in objects; a new link counts at both of its ends:"]
        + StatisticsTable(ledger.proxies).lines)
  }
}
