import Coherence
import DemoService

/// Makes the notes of the store equal to those of the service, beside the edits that wait to be sent.
struct MergeNotes: AsyncEntityAction {
  typealias ManagedObjectType = Note

  let client: NoteClient

  func execute(context: ActionContext) async throws -> MergeResult {
    let notes = try await client.notes()
    return try await context.perform {
      // An answer to an edit may be newer than the page. A note to delete has no incoming revision.
      let isCurrent = try FetchPredicate(format: "incoming.id == NIL OR incoming.revision >= existing.revision")
      return try context.merge(
        records: notes, for: try context.entity(for: Note.self), condition: isCurrent,
        options: MergeOptions(mode: .replace, maximumDeletedShare: 0.5, pendingEdits: .conflict))
    }
  }
}
