/// The requests that send the entries of one record.
///
/// The plan is a pure function of the entries: all forwarders make the same plan for the same entries.
struct OutboxPlan: Sendable {
  /// The requests in their order. Each request waits until the server has decided on the previous request.
  let steps: [OutboxStep]
  /// The entries without an effect, which can be deleted, such as the insert and the delete of a record that the server
  /// never had.
  let cancelled: [OutboxEntry]

  /// Plans the entries of one record.
  ///
  /// - Parameter entries: The entries of the record, in any order: all of them, or those up to some save.
  init(entries: [OutboxEntry]) {
    let entries = entries.sorted { $0.precedes($1) }
    var steps: [OutboxStep] = []
    var cancelled: [OutboxEntry] = []
    for group in EntryGroup.groups(of: entries.map(\.facts)) {
      let groupEntries = Array(entries[group.range])
      guard group.outcome != .nothing else {
        cancelled += groupEntries
        continue
      }
      let step = OutboxStep(groupEntries, outcome: group.outcome)
      // Only an update that no request has contained certainly has no effect on the server.
      if step.isEmptyUpdate, groupEntries.allSatisfy(\.isUntried) {
        cancelled += groupEntries
      } else {
        steps.append(step)
      }
    }
    self.steps = steps
    self.cancelled = cancelled
  }
}
