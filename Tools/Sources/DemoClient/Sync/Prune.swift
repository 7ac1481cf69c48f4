import Coherence

/// Deletes the records that the service does not have any more: a merge in replace mode, with keys alone.
struct Prune<Kept: ManagedObject>: AsyncEntityAction {
  typealias ManagedObjectType = Kept

  /// The keys of all records that stay.
  let records: [MergeRecord]

  func execute(context: ActionContext) async throws -> Changes {
    let records = records
    return try await context.perform {
      var changes = Changes()
      changes += try context.merge(
        records: records, for: try context.entity(for: Kept.self), options: .replaceAll)
      return changes
    }
  }
}
