import CoherenceCore
import CoherenceStrategies

/// Saves again and again in a background context of its own, and keeps account of it.
///
/// Each save adds one to the writer's own column of some tally; some also bring a ticket or take one away.
struct LoadWriter: Sendable {
  let number: Int
  let stage: LoadStage

  /// A third of the writers refuses conflicts; the others resolve them, in two ways.
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
      // Kept, so that what others save meanwhile makes them out of date.
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

  /// Deletes the oldest ticket: the one that others are after, too.
  private func deleteTicket(in context: ManagedObjectContext) throws -> ManagedObjectID? {
    var request = FetchRequest(Ticket.self)
    request.fetchLimit = 1
    guard let ticket = try context.fetch(request).first else { return nil }
    context.delete(ticket)
    return ticket.objectID
  }
}

/// What a writer did.
struct LoadReport: Sendable {
  /// Saves that returned.
  var acknowledged = 0
  /// The numbers of the saves that were refused because of a conflict.
  var refused: [Int] = []
  var inserted: Set<ManagedObjectID> = []
  var deleted: Set<ManagedObjectID> = []
  /// The most that the view's inbox held.
  private(set) var largestInbox = 0

  mutating func noteInbox(of view: ManagedObjectContext) { largestInbox = max(largestInbox, view.inboxSize) }
}
