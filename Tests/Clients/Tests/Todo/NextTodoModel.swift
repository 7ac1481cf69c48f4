import Coherence
import CoherenceModelMacros
import CoherenceOutbox
import CoherencePersistedActions
import CoherenceRefresh
import Foundation

@testable import Todo

/// The entities of the next version of the program, whose tasks have notes.
enum NextTodo {
  @Entity final class TodoList: ManagedObject {
    @Attribute(.unique) var id: Int64?
    var name: String
    var revision: Int64 = 0
    @Relationship(deleteRule: .cascade) var tasks: ToMany<TodoTask>
  }

  @Entity final class TodoTask: ManagedObject {
    @Attribute(.unique) var id: Int64?
    var title: String
    var note: String?
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

  @Entity final class Attachment: ManagedObject {
    @Attribute(.unique) var uuid: UUID
    var content: Data
    var isUploaded = false
    @Relationship(inverse: \TodoTask.attachments) var task: TodoTask?
  }

  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      TodoList.self, TodoTask.self, Tag.self, Attachment.self, Digest.self, name: "Todo"
    ).addingOutbox().addingRefreshStatus().addingPersistedActions()
  }
}
