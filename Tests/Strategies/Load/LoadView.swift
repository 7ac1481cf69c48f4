import CoherenceCore
import CoherenceStrategies
import Testing

/// The work of the view during the writers' saves: edits, saves, rollbacks and deletions.
@MainActor
final class LoadView {
  let context: ManagedObjectContext
  /// Kept to check that loaded objects are refreshed.
  private let tallies: [Tally]
  private(set) var acknowledged = 0
  private(set) var refused: [Int] = []
  private(set) var deleted: Set<ManagedObjectID> = []
  private var step = 0

  init(on stage: LoadStage) throws {
    context = stage.container.viewContext
    context.mergePolicy = .objectTrumps
    tallies = try stage.tallies.compactMap { [context] in try context.existingObject(with: $0) as? Tally }
  }

  /// Edits one tally. Every fourth edit is rolled back; the others are saved in pairs.
  func work() throws {
    step += 1
    tallies[step % tallies.count].remark += 1
    switch step % 4 {
    case 0: context.rollback()
    case 3: try save(edits: 3)
    default: _ = try LoadContent(of: context)
    }
  }

  /// Saves the edits and a deletion. An object that another context deletes at the same time stays deleted.
  func save(edits: Int) throws {
    var request = FetchRequest(Ticket.self)
    request.fetchLimit = 1
    let victim = try context.fetch(request).first
    let victimID = victim?.objectID
    if let victim { context.delete(victim) }
    do {
      try context.save()
      acknowledged += edits
      if let victimID { deleted.insert(victimID) }
    } catch ErrorCode.versionConflict {
      refused.append(step)
      context.rollback()
    }
  }

  /// Discards unsaved edits. A view that does not follow saves reads the store again.
  func settle(following: Bool) {
    context.rollback()
    if !following { context.refreshAll() }
  }

  /// The values of the loaded objects.
  var shown: [ManagedObjectID: [Int]] {
    Dictionary(uniqueKeysWithValues: tallies.map { ($0.objectID, $0.values) })
  }
}
