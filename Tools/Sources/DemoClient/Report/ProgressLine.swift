/// A line that shows the progress of the work. A terminal redraws the line; any other output gets a new line at
/// intervals.
package struct ProgressLine {
  private static let width = 28
  private let isInteractive: Bool
  private var lastPhase: SyncStep.Phase?
  private var lastQuarter = 0

  package init(isInteractive: Bool) { self.isInteractive = isInteractive }

  /// Returns the text for a step, with line ends; an empty text for steps without a line.
  package mutating func text(for step: SyncStep, note: String) -> String {
    let isFinished = step.done >= step.total
    if isInteractive {
      return "\r\u{1B}[K\(bar(step)) \(label(step)) · \(note)" + (isFinished ? "\n" : "")
    }
    let quarter = step.total > 0 ? step.done * 4 / step.total : 4
    guard quarter > (step.phase == lastPhase ? lastQuarter : 0) || isFinished else { return "" }
    (lastPhase, lastQuarter) = (step.phase, quarter)
    return "\(label(step)) · \(note)\n"
  }

  private func label(_ step: SyncStep) -> String { "\(step.phase.rawValue) \(step.done)/\(step.total)" }

  private func bar(_ step: SyncStep) -> String {
    let filled = step.total > 0 ? min(Self.width, Self.width * step.done / step.total) : Self.width
    return String(repeating: "█", count: filled) + String(repeating: "░", count: Self.width - filled)
  }
}
