import CoherenceInMemory
import CoherenceModelMacros
import Testing

@Entity final class Book: ManagedObject {
  @Attribute(.unique) var isbn: String
  var title = ""
  var year: Int?
  @Relationship(inverse: \Author.books) var author: Author?
}

@Entity final class Author: ManagedObject {
  var name = ""
  @Relationship(deleteRule: .cascade) var books: ToMany<Book>
}

/// The example of the product's page.
@Suite struct LibraryTests {
  @Test func `the example of the page finds the books that its request describes`() throws {
    let model = try ManagedObjectModel(Book.self, Author.self)
    let recent = FetchRequest(Book.self).filter { $0.year > 1990 && $0.author.name.hasPrefix("A") }.sort(\.title)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .inMemory)
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    try context.performAndWait {
      let author = try Author(context: context)
      author.name = "Ann"
      for (isbn, title, year) in [("1", "B", 1991), ("2", "A", 2001), ("3", "C", 1980)] {
        let book = try Book(context: context)
        (book.isbn, book.title, book.year, book.author) = (isbn, title, year, author)
      }
      try context.save()
      #expect(try context.fetch(recent).map(\.title) == ["A", "B"])
    }
  }
}
