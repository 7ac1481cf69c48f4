import CoherenceCore
import CoherenceStrategies

/// Saves repeatedly in its own background context, and counts the saves.
///
/// Each save adds one to the writer's column of a tally. Some saves also insert or delete a ticket.
struct LoadWriter: Sendable {
  let number: Int
  let stage: LoadStage

  /// A third of the writers has the policy `.error`; the others resolve conflicts by two policies.
  private var policy: MergePolicy {
    switch number % 3 {
    case 0: .error
    case 1: .objectTrumps
    default: .storeTrumps
    }
  }

  func run() throws -> LoadReport {
    let context = stage.container.newBackgroundContext()
    context.mergePolicy = policy
    return try context.performAndWait {
      // Kept, so that saves of other contexts make the objects outdated.
      let tallies = try stage.tallies.compactMap { try context.existingObject(with: $0) as? Tally }
      var report = LoadReport()
      for step in 0..<LoadStage.savesPerWriter {
        let tally = tallies[(step * (2 * number + 1)) % tallies.count]
        try save(step, tally, in: context, &report)
        report.noteInbox(of: stage.container.viewContext)
      }
      return report
    }
  }

  private func save(_ step: Int, _ tally: Tally, in context: ManagedObjectContext, _ report: inout LoadReport) throws {
    var ticket: Ticket?
    var victim: ManagedObjectID?
    do {
      tally[writer: number] += 1
      if step % 4 == 0 {
        ticket = try Ticket(context: context)
        ticket?.number = step
      }
      if step % 4 == 2 { victim = try deleteTicket(in: context) }
      try context.save()
      report.acknowledged += 1
      if let ticket { report.inserted.insert(ticket.objectID) }
      if let victim { report.deleted.insert(victim) }
    } catch ErrorCode.versionConflict {
      report.refused.append(step)
      context.rollback()
    }
  }

  /// Deletes the oldest ticket, for which the writers compete.
  private func deleteTicket(in context: ManagedObjectContext) throws -> ManagedObjectID? {
    var request = FetchRequest(Ticket.self)
    request.fetchLimit = 1
    guard let ticket = try context.fetch(request).first else { return nil }
    context.delete(ticket)
    return ticket.objectID
  }
}

/// The counts of a writer.
struct LoadReport: Sendable {
  /// Saves that returned.
  var acknowledged = 0
  /// The numbers of saves refused because of a conflict.
  var refused: [Int] = []
  var inserted: Set<ManagedObjectID> = []
  var deleted: Set<ManagedObjectID> = []
  /// The largest size of the view's inbox.
  private(set) var largestInbox = 0

  mutating func noteInbox(of view: ManagedObjectContext) { largestInbox = max(largestInbox, view.inboxSize) }
}
