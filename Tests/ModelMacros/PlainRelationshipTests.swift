import CoherenceModelMacros
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// Entities that declare relationships by their types alone.
private enum Library {
  @Entity final class Author: ManagedObject {
    var name = ""
    var books: ToMany<Book>
  }

  @Entity final class Book: ManagedObject {
    var title = ""
    var author: Author?
    var topics: ToMany<Topic>
  }

  @Entity final class Topic: ManagedObject {
    var name = ""
    var books: ToMany<Book>
    var parent: Topic?
    var children: OrderedToMany<Topic>
  }
}

/// Both sides of a relationship without an annotation, in each store.
@Suite struct PlainRelationshipTests {
  private let directory = TemporaryDirectory()

  private func container(_ backend: Backend) throws -> GenericPersistentContainer<ContextStrategy.Direct> {
    let model = try ManagedObjectModel(Library.Author.self, Library.Book.self, Library.Topic.self)
    #expect(model.warnings.isEmpty)
    let container = GenericPersistentContainer<ContextStrategy.Direct>(
      name: "Plain", managedObjectModel: model, storeLocation: directory.url)
    try container.attachPersistentStore(for: backend.newConfiguration())
    return container
  }

  @Test(arguments: Backend.available)
  func `setting a plain reference adds a member to the plain list of the other side`(_ backend: Backend) throws {
    let container = try container(backend)
    try container.newBackgroundContext().performAndWait { context in
      let author = try Library.Author(context: context)
      author.name = "Ursula"
      let book = try Library.Book(context: context)
      book.author = author
      #expect(author.books.map(\.objectID) == [book.objectID])
      try context.save()
    }
    try container.newBackgroundContext().performAndWait { context in
      let author = try #require(try context.fetch(FetchRequest(Library.Author.self)).first)
      #expect(author.books.count == 1)
      let request = FetchRequest(Library.Book.self).filter { $0.author.name == "Ursula" }
      let book = try #require(try context.fetch(request).first)
      context.delete(author)
      #expect(book.author == nil)
      try context.save()
    }
  }

  @Test(arguments: Backend.available)
  func `plain lists on both sides are many to many, and a plain parent has ordered children`(_ backend: Backend) throws
  {
    let container = try container(backend)
    try container.newBackgroundContext().performAndWait { context in
      let (root, first, second) = (
        try Library.Topic(context: context), try Library.Topic(context: context), try Library.Topic(context: context)
      )
      (root.name, first.name, second.name) = ("root", "first", "second")
      first.parent = root
      root.children.insert(second, at: 0)
      let book = try Library.Book(context: context)
      book.topics.insert(first)
      second.books.insert(book)
      try context.save()
    }
    try container.newBackgroundContext().performAndWait { context in
      let topics = try context.fetch(FetchRequest(Library.Topic.self).sort(\.name))
      #expect(topics.map(\.name) == ["first", "root", "second"])
      #expect(topics[1].children.map(\.name) == ["second", "first"])
      #expect(topics.map { $0.parent?.name } == ["root", nil, "root"])
      #expect(topics.map(\.books.count) == [1, 0, 1])
      let book = try #require(try context.fetch(FetchRequest(Library.Book.self)).first)
      #expect(Set(book.topics.map(\.name)) == ["first", "second"])
    }
  }
}
