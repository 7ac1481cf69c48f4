import Coherence
import Foundation
import Logging
import Synchronization

/// The lists of a shelf.
struct ShelfLists: OptionSet {
  let rawValue: Int
  static let books = ShelfLists(rawValue: 1)
  static let favorites = ShelfLists(rawValue: 2)
  static let queue = ShelfLists(rawValue: 4)
}

/// A store with one shelf and some books.
final class SizeLibrary {
  /// The title of a book after ``changeTitles()``.
  static let changedTitle = "Changed by another context"

  private let coordinator: PersistentStoreCoordinator
  private let store: any PersistentStore
  private let shelfID: ManagedObjectID

  /// Opens a store and fills it.
  ///
  /// - Parameters:
  ///   - count: The number of books.
  ///   - lists: The lists of the shelf with all books.
  init(_ configuration: StoreConfiguration, count: Int, in lists: ShelfLists) throws {
    let model = try ManagedObjectModel {
      ShelfObject.entityDeclaration
      BookObject.entityDeclaration
    }
    let logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, logger: logger)
    store = try coordinator.addPersistentStore(configuration, at: configuration.location)
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    shelfID = try context.performAndWait { try Self.fill(context, count, lists) }
    self.coordinator = coordinator
  }

  private static func fill(
    _ context: ManagedObjectContext, _ count: Int, _ lists: ShelfLists
  ) throws -> ManagedObjectID {
    let shelf = try ShelfObject(context: context)
    for book in try context.insertBooks(0..<count) {
      if lists.contains(.books) { book.shelf = shelf }
      if lists.contains(.favorites) { shelf.favorites.insert(book) }
      if lists.contains(.queue) { shelf.queue.append(book) }
    }
    try context.save()
    return shelf.objectID
  }

  func makeContext() -> ManagedObjectContext {
    ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  /// Makes a child of a context.
  func makeChild(of parent: ManagedObjectContext) -> ManagedObjectContext {
    ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
  }

  /// Returns the shelf as an object of a context.
  func shelf(in context: ManagedObjectContext) throws -> ShelfObject {
    guard let shelf = try context.existingObject(with: shelfID) as? ShelfObject else {
      throw BenchError("The object is no shelf.")
    }
    return shelf
  }

  func close() throws { try coordinator.remove(store) }

  /// Changes the titles of all books in a new context, and saves.
  ///
  /// - Returns: The changes of the save.
  func changeTitles() throws -> ChangeSet {
    let context = makeContext()
    let saved = SavedChanges()
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextDidSave, object: context, queue: nil
    ) { notification in
      saved.note(notification.userInfo?[ManagedObjectContext.NotificationKey.changes] as? ChangeSet)
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    try context.performAndWait {
      for book in try context.fetchBooks() { book.title = Self.changedTitle }
      try context.save()
    }
    guard let changes = saved.changes else { throw BenchError("The save posted no changes.") }
    return changes
  }
}

/// An observer that records the changes of a save.
private final class SavedChanges: Sendable {
  private let noted = Mutex<ChangeSet?>(nil)

  var changes: ChangeSet? { noted.withLock { $0 } }

  func note(_ changes: ChangeSet?) { noted.withLock { $0 = changes } }
}
