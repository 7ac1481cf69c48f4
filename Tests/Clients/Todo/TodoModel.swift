import Coherence
import CoherenceModelMacros
import CoherenceOutbox
import CoherencePersistedActions
import CoherenceRefresh
import Foundation

/// A list of tasks. Its key is the server's; a list that the server has not got yet has none.
@Entity final class TodoList: ManagedObject {
  @Attribute(.unique) var id: Int64?
  var name: String
  /// The server's number of the latest change.
  var revision: Int64 = 0
  @Relationship(deleteRule: .cascade) var tasks: ToMany<TodoTask>
}

@Entity final class TodoTask: ManagedObject {
  @Attribute(.unique) var id: Int64?
  var title: String
  var isDone = false
  var revision: Int64 = 0
  @Relationship(inverse: \TodoList.tasks) var list: TodoList?
  @Relationship(inverse: \Tag.tasks) var tags: ToMany<Tag>
  @Relationship(deleteRule: .cascade) var attachments: ToMany<Attachment>
}

@Entity final class Tag: ManagedObject {
  @Attribute(.unique) var id: Int64?
  var name: String
  var revision: Int64 = 0
  var tasks: ToMany<TodoTask>
}

/// A file of a task, which an action uploads.
@Entity final class Attachment: ManagedObject {
  @Attribute(.unique) var uuid: UUID
  var content: Data
  var isUploaded = false
  @Relationship(inverse: \TodoTask.attachments) var task: TodoTask?
}

/// The open tasks of a morning.
@Entity final class Digest: ManagedObject {
  @Attribute(.unique) var date: Date
  var text: String
}

enum TodoModel {
  static func make() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      TodoList.self, TodoTask.self, Tag.self, Attachment.self, Digest.self, name: "Todo"
    ).addingOutbox().addingRefreshStatus().addingPersistedActions()
  }
}
