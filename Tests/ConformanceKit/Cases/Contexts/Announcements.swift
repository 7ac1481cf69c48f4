import CoherenceCore
import Foundation
import Synchronization

extension ConformanceSubject {
  static let announcements = ConformanceSubject("Announcements") {
    saves
    changedObjects
    merges
  }

  /// Collects the save notifications of a context.
  private final class SaveRecorder: Sendable {
    private let received = Mutex<[ChangeSet]>([])
    var changes: [ChangeSet] { received.withLock { $0 } }

    func record(_ notification: Notification) {
      let changes = notification.userInfo?[ManagedObjectContext.NotificationKey.changes] as? ChangeSet
      if let changes { received.withLock { $0.append(changes) } }
    }

    func listening<T>(to context: ManagedObjectContext, _ body: () throws -> T) rethrows -> T {
      let token = NotificationCenter.default.addObserver(
        forName: .managedObjectContextDidSave, object: context, queue: nil
      ) { [self] in record($0) }
      defer { NotificationCenter.default.removeObserver(token) }
      return try body()
    }
  }

  @CasesBuilder private static var saves: [Case] {
    Case("the save notification lists inserted, changed and deleted objects") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title]) } }
      let context = stack.context()
      let recorder = SaveRecorder()
      try context.performAndWait {
        let inserted = try context.make("Album", ["title": "C"])
        let updated = try context.one("Album", where: equal("title", "A"))
        let deleted = try context.one("Album", where: equal("title", "B"))
        try updated.setValue("X", for: "title")
        let deletedID = deleted.objectID
        context.delete(deleted)
        try recorder.listening(to: context) { try context.save() }
        let changes = try unwrap(recorder.changes.first, "an announcement")
        try expectEqual(recorder.changes.count, 1, "the number of announcements")
        try expectEqual(changes.insertedIDs, [inserted.objectID])
        try expectEqual(changes.updatedIDs, [updated.objectID])
        try expectEqual(changes.deleted, [deletedID])
      }
    }
    Case("a save that fails announces nothing") { stack in
      let context = stack.context()
      let recorder = SaveRecorder()
      try context.performAndWait {
        try context.make("Album")
        try recorder.listening(to: context) { _ = try expectThrows(.validationFailed) { try context.save() } }
      }
      try expectEqual(recorder.changes.count, 0)
    }
    Case("an announced row is the saved state at its new version") { stack in
      let context = stack.context()
      let recorder = SaveRecorder()
      try context.performAndWait {
        let album = try context.make("Album", ["title": "A"])
        try context.save()
        try album.setValue("B", for: "title")
        try recorder.listening(to: context) { try context.save() }
        let row = try unwrap(recorder.changes.first?.updated.first, "a row")
        try expectEqual(row.version, 2)
        try expectEqual(row[try unwrap(row.entity.attribute(named: "title")).slot], .string("B"))
      }
    }
    Case("announcements name permanent identifiers by temporary ones") { stack in
      let context = stack.context()
      let recorder = SaveRecorder()
      try context.performAndWait {
        let album = try context.make("Album", ["title": "A"])
        let temporary = album.objectID
        try recorder.listening(to: context) { try context.save() }
        try expectEqual(recorder.changes.first?.permanentIDs[temporary], album.objectID)
      }
    }
    Case("saves are announced as a stream") { stack in
      let context = stack.context()
      var saves = context.didSaveChanges.makeAsyncIterator()
      let id = try await context.perform {
        let album = try context.make("Album", ["title": "A"])
        try context.save()
        return album.objectID
      }
      try expectEqual(await saves.next()?.insertedIDs, [id])
    }
    Case("changes of objects are announced as a stream") { stack in
      let context = stack.context()
      var changes = context.objectsDidChange.makeAsyncIterator()
      let id = try await context.perform {
        let album = try context.make("Album", ["title": "A"])
        try context.obtainPermanentIDs(for: [album])
        try context.processPendingChanges()
        return album.objectID
      }
      try expectEqual(await changes.next()?.inserted, [id])
    }
  }

  /// Records the changed objects in a context's notifications.
  private final class ObjectRecorder: @unchecked Sendable {
    // Sendable: used inside of the context only, where notifications arrive too.
    private(set) var received: [ChangedObjects] = []
    /// The observer's reaction to the objects, before they are recorded.
    var reaction: (ChangedObjects) -> Void = { _ in }

    func listening<T>(to context: ManagedObjectContext, _ body: () throws -> T) rethrows -> T {
      let token = NotificationCenter.default.addObserver(
        forName: .managedObjectContextObjectsDidChange, object: context, queue: nil
      ) { [self] notification in
        let objects = notification.userInfo?[ManagedObjectContext.NotificationKey.objects] as? ChangedObjects
        guard let objects else { return }
        received.append(objects)
        reaction(objects)
      }
      defer { NotificationCenter.default.removeObserver(token) }
      return try body()
    }
  }

  @CasesBuilder private static var changedObjects: [Case] {
    Case("the change notification separates inserted, updated, refreshed and deleted objects") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title]) } }
      let recorder = ObjectRecorder()
      try stack.read { context in
        let updated = try context.one("Album", where: equal("title", "A"))
        let deleted = try context.one("Album", where: equal("title", "B"))
        try recorder.listening(to: context) {
          let inserted = try context.make("Album", ["title": "C"])
          try updated.setValue("X", for: "title")
          context.delete(deleted)
          try context.processPendingChanges()
          try expectEqual(recorder.received.count, 1)
          try expectEqual(recorder.received[0].inserted, [inserted])
        }
        try expectEqual(recorder.received[0].updated, [updated])
        try expectEqual(recorder.received[0].deleted, [deleted])
        try expect(!recorder.received[0].isEverything, "a notification with separate changes")
      }
    }
    Case("an object that another context changed is announced as refreshed, and alone") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      let recorder = ObjectRecorder()
      let context = stack.context()
      let album = try context.performAndWait { try context.one("Album") }
      try recorder.listening(to: context) {
        try merging(stack, from: { try $0.one("Album").setValue("B", for: "title") }, into: context)
        try context.performAndWait { try context.processPendingChanges() }
      }
      try context.performAndWait {
        try expectEqual(recorder.received.map(\.refreshed), [[album]])
        try expectEqual(recorder.received.map { $0.inserted.union($0.updated).union($0.deleted) }, [[]])
      }
    }
    Case("an object that another context deleted is announced as deleted, and alone") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      let recorder = ObjectRecorder()
      let context = stack.context()
      let album = try context.performAndWait { try context.one("Album") }
      try recorder.listening(to: context) {
        try merging(stack, from: { $0.delete(try $0.one("Album")) }, into: context)
        try context.performAndWait { try context.processPendingChanges() }
      }
      try context.performAndWait {
        try expectEqual(recorder.received.map(\.deleted), [[album]])
        try expectEqual(recorder.received.map { $0.inserted.union($0.updated).union($0.refreshed) }, [[]])
      }
    }
    Case("the change notification lists the objects that a batch update changed") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title]) } }
      let recorder = ObjectRecorder()
      try stack.read { context in
        let albums = try context.all("Album", sort: [SortKey("title")])
        let request = BatchUpdateRequest(entityName: "Album", predicate: equal("title", "A"), values: ["year": 1])
        try recorder.listening(to: context) {
          try context.execute(request)
          try context.processPendingChanges()
        }
        try expectEqual(recorder.received.map(\.refreshed), [[albums[0]]])
      }
    }
    Case("the object sets of a change notification do not change after its delivery") { stack in
      let recorder = ObjectRecorder()
      try stack.read { context in
        try recorder.listening(to: context) {
          let album = try context.make("Album", ["title": "A"])
          try context.save()
          context.delete(album)
          try context.save()
          try expectEqual(recorder.received.map(\.inserted), [[album], []])
          try expectEqual(recorder.received.map(\.deleted), [[], [album]])
        }
      }
    }
    Case("an announced insert that is deleted before its save is announced as deleted, also after a fetch") { stack in
      let recorder = ObjectRecorder()
      try stack.read { context in
        try recorder.listening(to: context) {
          let album = try context.make("Album", ["title": "A"])
          try context.processPendingChanges()
          context.delete(album)
          // The fetch applies the delete rules, so that the object leaves the context.
          try expectEqual(try context.names("Album"), [])
          try context.processPendingChanges()
          try expectEqual(recorder.received.map(\.inserted), [[album], []])
          try expectEqual(recorder.received.map(\.deleted), [[], [album]])
          // No observer knows an object that is deleted before the notification of its insert.
          context.delete(try context.make("Album", ["title": "B"]))
          try context.processPendingChanges()
          try expectEqual(recorder.received.count, 2)
        }
      }
    }
    Case("an announced insert that a child deletes before its save is announced as deleted") { stack in
      let recorder = ObjectRecorder()
      let parent = stack.context()
      try recorder.listening(to: parent) {
        let album = try parent.performAndWait { try parent.make("Album", ["title": "A"]) }
        let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
        try child.performAndWait {
          child.delete(try child.one("Album"))
          try child.save()
        }
        try parent.performAndWait { try expectEqual(recorder.received.last?.deleted, [album]) }
      }
    }
    Case("the undo of an announced insert is announced as a delete, and its redo as an insert") { stack in
      let recorder = ObjectRecorder()
      try stack.read { context in
        let history = UndoHistory()
        context.undoHistory = history
        try recorder.listening(to: context) {
          let album = try context.make("Album", ["title": "A"])
          try context.processPendingChanges()
          try history.undo()
          try context.processPendingChanges()
          try expectEqual(recorder.received.map(\.deleted), [[], [album]])
          try history.redo()
          try context.processPendingChanges()
          try expectEqual(recorder.received.map(\.inserted), [[album], [], [album]])
          try history.undo()
          try history.redo()
          try context.processPendingChanges()
          try expectEqual(recorder.received.last?.deleted, [])
        }
      }
    }
    Case("a change by one observer is not in the notification that the others receive") { stack in
      let (first, second) = (ObjectRecorder(), ObjectRecorder())
      try stack.read { context in
        let album = try context.make("Album", ["title": "A"])
        let other = try context.make("Album", ["title": "B"])
        first.reaction = { [unowned first] _ in
          first.reaction = { _ in }
          context.delete(album)
        }
        try first.listening(to: context) {
          try second.listening(to: context) {
            try context.processPendingChanges()
            try expectEqual(second.received.map(\.inserted), [[album, other]])
            try expectEqual(second.received.map(\.deleted), [[]])
          }
        }
      }
    }
  }

  /// Merges the save of one context into another.
  private static func merging(
    _ stack: ConformanceStack, from saver: (ManagedObjectContext) throws -> Void, into context: ManagedObjectContext
  ) throws {
    let recorder = SaveRecorder()
    let source = stack.context()
    try source.performAndWait {
      try saver(source)
      try recorder.listening(to: source) { try source.save() }
    }
    for changes in recorder.changes { context.mergeChanges(fromContextDidSave: changes) }
  }

  @CasesBuilder private static var merges: [Case] {
    Case("merged changes show at the next entry of the context") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      let context = stack.context()
      let album = try context.performAndWait {
        let album = try context.one("Album")
        try expectEqual(try album.label, "A")
        return album
      }
      try merging(stack, from: { try $0.one("Album").setValue("B", for: "title") }, into: context)
      try context.performAndWait { try expectEqual(try album.label, "B") }
    }
    Case("a merge keeps the context's own unsaved changes") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      let context = stack.context()
      let album = try context.performAndWait {
        let album = try context.one("Album")
        try album.setValue("mine", for: "title")
        return album
      }
      try merging(stack, from: { try $0.one("Album").setValue(1959, for: "year") }, into: context)
      try context.performAndWait {
        try expectEqual(try album.label, "mine")
        try expectEqual(try album.value(for: "year"), .int(1959))
        try context.save()
      }
      try stack.read { try expectEqual(try $0.one("Album", where: equal("year", 1959)).label, "mine") }
    }
    Case("a merged delete takes the object out") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      let context = stack.context()
      let album = try context.performAndWait {
        let album = try context.one("Album")
        try album.load()
        return album
      }
      try merging(stack, from: { $0.delete(try $0.one("Album")) }, into: context)
      try context.performAndWait {
        try expectEqual(try context.number(of: "Album"), 0)
        try expectThrows(oneOf: [.objectDeleted, .objectNotFound]) { try album.setValue("X", for: "title") }
      }
    }
    Case("merged links show in loaded relationships") { stack in
      try stack.write { context in
        try context.make("Album", ["title": "A"])
        try context.make("Genre", ["name": "Jazz"])
      }
      let context = stack.context()
      let genre = try context.performAndWait {
        let genre = try context.one("Genre")
        try expectEqual(try genre.labels(of: "albums"), [])
        return genre
      }
      try merging(
        stack, from: { try $0.one("Album").setObjects([try $0.one("Genre")], for: "genres") }, into: context)
      try context.performAndWait { try expectEqual(try genre.labels(of: "albums"), ["A"]) }
    }
    Case("merged references show in loaded to-many relationships") { stack in
      try stack.write { try $0.make("Artist", ["name": "M"]) }
      let context = stack.context()
      let artist = try context.performAndWait {
        let artist = try context.one("Artist")
        try expectEqual(try artist.labels(of: "albums"), [])
        return artist
      }
      try merging(
        stack, from: { try $0.make("Album", ["title": "A"]).setObject(try $0.one("Artist"), for: "artist") },
        into: context)
      try context.performAndWait { try expectEqual(try artist.labels(of: "albums"), ["A"]) }
    }
  }
}
