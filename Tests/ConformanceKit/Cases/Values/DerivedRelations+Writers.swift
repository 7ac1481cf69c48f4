import CoherenceCore
import Foundation
import Synchronization

// Batch requests, and several writers.

extension ConformanceSubject {
  @CasesBuilder static var derivedRelationBatches: [Case] {
    deriving("batch requests keep derived values right, in stores and in objects") { stack in
      try fill(stack)
      try fill(stack, [10], record: "B")
      try stack.read { context in
        let owner = try record(context)
        let target = try record(context, "B").objectID
        try context.execute(BatchUpdateRequest(entityName: "Song", values: ["length": 4]))
        try expectValue(owner, "length", 8)
        try checkDerived(stack)
        let rows: [[String: AttributeValue]] = [
          ["name": .string("x"), "code": .string("x"), "length": .int(1), "record": .reference(owner.objectID)],
          ["name": .string("y"), "code": .string("y"), "length": .int(2), "record": .reference(owner.objectID)],
        ]
        try context.execute(BatchInsertRequest(entityName: "Song", rows: rows))
        try expectValue(owner, "songCount", 4)
        try checkDerived(stack)
        let moved: [[String: AttributeValue]] = [
          ["name": .string("x"), "code": .string("x"), "length": .int(7), "record": .reference(target)],
          ["name": .string("z"), "code": .string("z"), "length": .int(9), "record": .reference(target)],
        ]
        try context.execute(BatchInsertRequest(entityName: "Song", rows: moved, onDuplicate: .update(by: ["code"])))
        try expectValue(owner, "songCount", 3)
        try checkDerived(stack)
        try context.execute(BatchUpdateRequest(entityName: "Singer", values: ["name": "New"]))
        try expectValue(owner, "singerName", "New")
        try checkDerived(stack)
        try context.execute(BatchDeleteRequest(entityName: "Song", predicate: equal("name", "y")))
        try expectValue(owner, "songCount", 2)
        try checkDerived(stack)
        try context.execute(BatchDeleteRequest(entityName: "Singer"))
        try expectValue(owner, "singerName", String?.none)
        try checkDerived(stack)
      }
    }
    deriving("a batch delete of linked members, and a claim, keep derived values right") { stack in
      try fill(stack)
      try stack.write { context in
        let labels = try [1.0, 2.0].map { try context.make("Label", ["name": "\($0)", "weight": $0]) }
        try record(context).setObjects(labels, for: "labels")
      }
      try stack.read { context in
        try context.execute(BatchDeleteRequest(entityName: "Label", predicate: equal("name", "1.0")))
        try checkDerived(stack)
        try expectValue(try record(context), "labelWeight", 2.0)
        let request = FetchRequest<ManagedObject>(entityName: "Song")
        try context.claim(request, limit: 1, set: ["length": Int32(50)])
        try checkDerived(stack)
      }
    }
  }

  // MARK: Writers

  @CasesBuilder static var derivedWriters: [Case] {
    deriving("an edit and a delete of an owner are no conflicts because others added members") { stack in
      try fill(stack)
      for isDelete in [false, true] {
        let late = stack.context(.error)
        try late.performAndWait {
          let owner = try record(late)
          try owner.load()
          if isDelete { _ = try owner.objects(for: "songs") }
          try stack.write { try addSong("other\(isDelete)", 5, to: isDelete ? nil : try record($0), $0) }
          if isDelete {
            try stack.write { try $0.one("Singer").setValue("renamed", for: "name") }
            late.delete(owner)
          } else {
            try owner.setValue("code", for: "code")
          }
          try late.save()
          if !isDelete { try expectValue(owner, "songCount", 3) }
        }
        try checkDerived(stack)
      }
      try stack.read { try expectEqual(try $0.number(of: "Record"), 0) }
    }
    deriving("an edit of an owner's property by another writer is still a conflict") { stack in
      try fill(stack)
      let late = stack.context(.error)
      try late.performAndWait {
        let owner = try record(late)
        try owner.load()
        try stack.write { context in
          let owner = try record(context)
          try addSong("other", 5, to: owner, context)
          try owner.setValue("theirs", for: "code")
        }
        try owner.setValue("mine", for: "code")
        try expectThrows(.versionConflict) { try late.save() }
        late.rollback()
      }
      try checkDerived(stack)
    }
    deriving("policies that write an owner's whole row keep its derived values") { stack in
      let policies: [(String, MergePolicy)] = [("X", .storeTrumps), ("Y", .objectTrumps), ("Z", .overwrite)]
      for (name, policy) in policies {
        try fill(stack, [1], record: name)
        let late = stack.context(policy)
        try late.performAndWait {
          let owner = try record(late, name)
          try owner.load()
          try stack.write { context in
            let owner = try record(context, name)
            try addSong("other", 5, to: owner, context)
            try owner.setValue("theirs \(name)", for: "code")
          }
          try owner.setValue("mine \(name)", for: "code")
          try late.save()
        }
        try checkDerived(stack)
      }
    }
    Case("a value that Core derives while another writer changes its source is derived again", model: sourceModel) {
      stack in
      let interposition = try stack.interpose()
      try stack.write { context in
        try context.make("Note")
        try context.make("Topic", ["name": "old"])
        try context.make("Mark", ["points": 1])
      }
      interposition.beforeSave { _ in
        interposition.beforeSave(nil)
        // The save has derived its values already, and the other writer finds no note with the topic or the mark.
        try stack.write { context in
          try context.one("Topic").setValue("new", for: "name")
          try context.one("Mark").setValue(5, for: "points")
        }
      }
      try stack.write { context in
        let note = try context.one("Note")
        try note.setObject(try context.one("Topic"), for: "topic")
        try note.setObjects([try context.one("Mark")], for: "marks")
      }
      try stack.reopen()
      try stack.read { context in
        let note = try context.one("Note")
        try expectValue(note, "topicName", "new")
        try expectValue(note, "points", 5)
      }
    }
    lateLink("a delete of a member counts the link that another writer adds meanwhile") { context in
      context.delete(try context.one("Mark"))
      try context.save()
    }
    lateLink("a batch delete of members counts the link that another writer adds meanwhile") { context in
      try context.execute(BatchDeleteRequest(entityName: "Mark"))
    }
    deriving("writers that add members to one owner at the same time count the members of all") { stack in
      try fill(stack)
      let coordinators = [stack.coordinator] + (try (1...2).map { _ in try stack.anotherCoordinator() })
      let rounds = 8
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (number, coordinator) in coordinators.enumerated() {
          group.addTask {
            let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
            for round in 0..<rounds {
              try await context.perform {
                try addSong("\(number)-\(round)", Int32(round), to: try record(context), context)
                try context.save()
              }
            }
          }
        }
        try await group.waitForAll()
      }
      try stack.reopen()
      try checkDerived(stack)
      try stack.read { try expectValue(try record($0), "songCount", 2 + coordinators.count * rounds) }
    }
    deriving("a rename at the end of a path and records that take the path at the same time agree") { stack in
      try fill(stack)
      let other = try stack.anotherCoordinator()
      let coordinator = stack.coordinator
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
          for round in 0..<12 {
            try await context.perform {
              let song = try addSong("n\(round)", nil, to: nil, context)
              try song.setObject(try record(context), for: "record")
              try context.save()
            }
          }
        }
        group.addTask {
          let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: other)
          context.mergePolicy = .objectTrumps
          for round in 0..<12 {
            try await context.perform {
              try context.one("Singer").setValue("S\(round)", for: "name")
              try context.save()
            }
          }
        }
        try await group.waitForAll()
      }
      try stack.reopen()
      try checkDerived(stack)
    }
  }

  /// A case in which another writer links a note to a mark, after the deletion of the mark has read the links of the
  /// mark and before the deletion writes. For stores that compute derived values.
  private static func lateLink(_ name: String, _ delete: @escaping @Sendable (ManagedObjectContext) throws -> Void)
    -> Case
  {
    Case(name, model: sourceModel) { stack in
      guard try stack.store is any RelationshipDeriving else { return }
      try stack.write { context in
        try context.make("Note")
        try context.make("Mark", ["points": 1])
      }
      stack.coordinator.addSaveParticipant(
        LateWriter(to: "Mark") {
          try stack.write { context in
            try context.one("Note").setObjects([try context.one("Mark")], for: "marks")
          }
        })
      try stack.read { try delete($0) }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.number(of: "Mark"), 0)
        try expectValue(try context.one("Note"), "points", 0)
        try expectValue(try context.one("Note"), "markCount", 0)
      }
    }
  }

  /// Records without derived values of their own, from which notes derive values by a path and by links.
  private static let sourceModel = soundModel {
    Entity("Note") {
      Attribute("topicName", .string, derived: .path("topic.name"))
      Attribute("points", .int64, derived: .sum("marks.points"))
      Attribute("markCount", .int64, derived: .count("marks"))
      Relationship("topic", toOne: "Topic", inverse: "notes")
      Relationship("marks", toMany: "Mark", inverse: "notes")
    }
    Entity("Topic") {
      Attribute("name", .string)
      Relationship("notes", toMany: "Note", inverse: "topic")
    }
    Entity("Mark") {
      Attribute("points", .int64)
      Relationship("notes", toMany: "Note", inverse: "marks")
    }
  }
}

/// A writer that saves once: after a save that changes records of an entity has read the store, and before it writes.
private final class LateWriter: SaveParticipant {
  private struct Write { let run: @Sendable () throws -> Void }

  private let entityName: String
  private let write: Mutex<Write?>

  init(to entityName: String, _ write: @escaping @Sendable () throws -> Void) {
    self.entityName = entityName
    self.write = Mutex(Write(run: write))
  }

  func observes(_ entity: EntityDescription) -> Bool { entity.name == entityName }

  func participate(in save: inout SaveParticipation) throws {
    try write.withLock { $0.take() }?.run()
  }
}
