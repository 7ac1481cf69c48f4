import DemoService
import Foundation

/// A task of the client in the offline story. Each task runs in a process of its own.
package enum StoryTask: String, Sendable, CaseIterable {
  /// Merges the notes of the service into an empty store.
  case pull
  /// Edits notes, and tries to send the edits.
  case edit
  /// Sends the edits.
  case forward
  /// Reports the entries of the outbox, and edits more notes.
  case editAgain
  /// Merges, sends, resolves conflicts, and sends the rest.
  case finish
}

/// A message from a process of the client to the process that runs the story.
package enum StoryMessage: Codable, Sendable, Equatable {
  /// The service has accepted an edit, and the edit has left the outbox.
  case accepted
  /// An attempt failed, and the edit stays in the outbox.
  case failed
  /// The client has merged the notes of the service, and waits for a line before it sends.
  case merged(StoryMerge)
  /// The client has resolved a conflict.
  case conflict(StoryConflict)
  /// The state of the client at the end of a task.
  case report(StoryReport)
}

/// The counts of a merge.
package struct StoryMerge: Codable, Sendable, Equatable {
  package var inserted = 0
  package var updated = 0
  package var deleted = 0
  package var keptEdits = 0
  package var conflicts = 0
}

/// A conflict with the decision of the user.
package struct StoryConflict: Codable, Sendable, Equatable {
  /// The number of the note.
  package var number: Int
  package var kind: String
  /// The values of the properties in conflict, as text.
  package var properties: [Property]
  package var decision: String

  package struct Property: Codable, Sendable, Equatable {
    package var name: String
    package var base: String
    package var local: String
    package var server: String
  }
}

/// The state of the client.
package struct StoryReport: Codable, Sendable, Equatable {
  package var notes: [NoteRecord] = []
  package var saves = 0
  /// The numbers of entries by state.
  package var pending = 0
  package var sending = 0
  package var parked = 0
  package var conflicts = 0

  package var entries: Int { pending + sending + parked }
}
