import Coherence
import CoherenceOutbox

/// Makes the chores equal to those of the server, beside the edits that wait.
struct MergeChores: AsyncEntityAction {
  typealias ManagedObjectType = Chore
  let server: ChoreServer

  func execute(context: ActionContext) async throws -> MergeResult {
    let chores = try await server.chores()
    return try await context.perform {
      let isCurrent = try FetchPredicate(format: "incoming.id == NIL OR incoming.revision >= existing.revision")
      return try context.merge(
        records: chores, for: context.entity(for: Chore.self), condition: isCurrent,
        options: MergeOptions(mode: .replace, maximumDeletedShare: 0.5, pendingEdits: .conflict))
    }
  }
}

extension ChoreBook {
  /// Merges the chores of the server, and sends the edits. Conflicts wait for the user.
  func sync() async throws {
    _ = try await connect.execute(MergeChores(server: server)).value
    try outbox.start(ForwardOptions(leaseDuration: .seconds(5)))
    try await outbox.flush(waitsForOthers: true)
    await outbox.stop()
  }

  /// Decides over every conflict.
  func resolve(keeping resolution: OutboxResolution) async throws {
    for conflict in try await outbox.conflicts() {
      try await outbox.resolve(conflict.id, keeping: resolution)
    }
  }
}
