import CoherenceActions
import CoherenceCore
import Foundation

/// Adds the conflicts that wait for the user to the pending edits of a merge.
struct WaitingConflicts {
  private let context: ManagedObjectContext
  private let names: RecordedNames
  /// The time of the request for the merge's input. A later conflict is newer than the input.
  private let requested: Date
  /// The time after which no conflict can have been found, on no machine. A conflict with a later time was found before
  /// the clock was set back, and so before the request.
  private let latest: Date

  /// The accepted difference between the clocks of machines, in seconds.
  private static let clockDifference: TimeInterval = 300

  /// - Parameter now: The present time.
  init(in context: ManagedObjectContext, _ names: RecordedNames, until requested: Date, at now: Date) {
    self.context = context
    self.names = names
    self.requested = requested
    latest = now.addingTimeInterval(Self.clockDifference)
  }

  /// Adds the conflicts of some records to their edits.
  ///
  /// - Parameter ids: The records with a parked entry. Other records have no conflict.
  /// - Throws: Errors of the store. A damaged conflict is left out, and stays until the user decides.
  func add(to edits: inout [PendingEdit], of ids: [ManagedObjectID]) throws {
    let conflicts = try context.conflictRecords(over: ids)
    guard !conflicts.isEmpty else { return }
    for index in edits.indices where edits[index].kind != .insert {
      guard let conflict = conflicts[edits[index].recordID],
        conflict.detected <= requested || conflict.detected > latest
      else { continue }
      edits[index].conflict = pendingConflict(conflict)
    }
  }

  private func pendingConflict(_ conflict: OutboxConflictRecord) -> PendingConflict? {
    guard let entity = names.entity(conflict.entityName), let store = names.store(of: conflict.objectID) else {
      return nil
    }
    let values = ConflictValues(of: conflict, entity, in: store)
    guard values.isReadable else { return nil }
    var serverValues: [String: AttributeValue] = [:]
    for property in values.properties { serverValues[property.name] = property.server }
    return PendingConflict(
      names: values.names, serverValues: conflict.kind == .deletedOnServer ? nil : serverValues)
  }
}
