import Coherence
import DemoService

/// Replaces the notes of the store by the notes of the service, but keeps edits that the outbox has not sent yet.
struct MergeNotes: AsyncEntityAction {
  typealias ManagedObjectType = Note

  let client: NoteClient

  func execute(context: ActionContext) async throws -> MergeResult {
    let notes = try await client.notes()
    return try await context.perform {
      // The store can have a newer revision than the page, from the reply to an edit. A note that is missing in the
      // page has no incoming values, and is deleted.
      let isCurrent = try FetchPredicate(format: "incoming.id == NIL OR incoming.revision >= existing.revision")
      return try context.merge(
        records: notes, for: try context.entity(for: Note.self), condition: isCurrent,
        options: MergeOptions(mode: .replace, maximumDeletedShare: 0.5, pendingEdits: .conflict))
    }
  }
}
