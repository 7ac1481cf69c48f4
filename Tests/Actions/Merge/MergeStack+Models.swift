import CoherenceCore

// Models whose records have owners.

extension MergeStack {
  /// Folders with notes. A note may have a parent.
  ///
  /// - Parameter isRequired: Whether each note has a folder.
  static func folders(isRequired: Bool) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Folder", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Relationship("notes", toMany: "Note", inverse: "folder", deleteRule: .cascade)
      }
      Entity("Note", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
        Relationship("folder", toOne: "Folder", inverse: "notes", optional: !isRequired)
        Relationship("parent", toOne: "Note", inverse: "children")
        Relationship("children", toMany: "Note", inverse: "parent")
      }
    }
  }

  /// Rooms and their messages. Each message has a room and a thread: the first message of the thread, or itself.
  static func rooms() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Room", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Relationship("messages", toMany: "Message", inverse: "room", deleteRule: .cascade)
      }
      Entity("Message", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Relationship("room", toOne: "Room", inverse: "messages", optional: false)
        Relationship("thread", toOne: "Message", inverse: "replies", optional: false)
        Relationship("replies", toMany: "Message", inverse: "thread", deleteRule: .cascade)
      }
    }
  }
}
