import Coherence
import CoherenceModelMacros

// The plugin writes `Author`, `Book` and `LibraryModel` from the file Library.xcdatamodeld of this target.

/// Saves a book with its author, and fetches the titles of all books.
@main
struct Library {
  static func main() throws {
    print(try titles().joined(separator: ", "))
  }

  static func titles() throws -> [String] {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try LibraryModel.make())
    try coordinator.addPersistentStore(type: .inMemory)
    let context = ManagedObjectContext(coordinator: coordinator)
    return try context.performAndWait {
      let author = try Author(context: context)
      author.name = "Ursula K. Le Guin"
      let book = try Book(context: context)
      book.title = "The Dispossessed"
      book.year = 1974
      book.author = author
      try context.save()
      return try context.fetch(FetchRequest(Book.self).sort(\.title)).map(\.title)
    }
  }
}
