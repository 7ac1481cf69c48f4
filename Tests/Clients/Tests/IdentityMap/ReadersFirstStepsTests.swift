import CoherenceIdentityMap
import Foundation
import Testing

/// First code of a user of another identity map, with public API only.
@Suite("First steps with the identity map")
struct ReadersFirstStepsTests {
  struct Book: Identifiable, Equatable {
    let id: String
    var name: String
  }

  struct Author: Identifiable, Equatable {
    let id: Int
    var name: String
  }

  struct Game: Identifiable, Equatable {
    let id: Int
  }

  struct TvShow: Identifiable, Equatable {
    let id: Int
  }

  struct User: Identifiable, Equatable {
    let id: Int
  }

  struct AuthorBooks: Aggregate {
    var id: Author.ID { author.id }

    var author: Author
    var books: [Book]

    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
      [.init(\.author), .init(\.books)]
    }
  }

  enum MediaType: EntityWrapper {
    case book(Book)
    case game(Game)
    case tvShow(TvShow)

    func wrappedEntitiesKeyPaths<Root>(
      relativeTo parent: WritableKeyPath<Root, Self>
    ) -> [PartialIdentifiableKeyPath<Root>] {
      [.init(parent.appending(\.book)), .init(parent.appending(\.game)), .init(parent.appending(\.tvShow))]
    }

    var book: Book? {
      get { if case .book(let book) = self { book } else { nil } }
      set { if let newValue { self = .book(newValue) } }
    }

    var game: Game? {
      get { if case .game(let game) = self { game } else { nil } }
      set { if let newValue { self = .game(newValue) } }
    }

    var tvShow: TvShow? {
      get { if case .tvShow(let tvShow) = self { tvShow } else { nil } }
      set { if let newValue { self = .tvShow(newValue) } }
    }
  }

  struct AuthorMedia: Aggregate {
    var id: Author.ID { author.id }
    var author: Author
    var media: MediaType

    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
      [.init(\.author), .init(wrapper: \.media)]
    }
  }

  private let entityStore = EntityStore()

  @Test func `storing and finding`() {
    let book = Book(id: "ABCD", name: "My Book")
    let retained = entityStore.store(book)
    #expect(entityStore.find(Book.self, id: "ABCD")?.value == book)
    withExtendedLifetime(retained) {}
  }

  @Test func `relations`() {
    let authorBooks = AuthorBooks(
      author: Author(id: 1, name: "George R.R Martin"),
      books: [
        Book(id: "ACK", name: "A Clash of Kings"),
        Book(id: "ADD", name: "A Dance with Dragons"),
      ]
    )
    let retained = entityStore.store(authorBooks)
    #expect(entityStore.find(Author.self, id: 1)?.value.name == "George R.R Martin")
    #expect(entityStore.find(Book.self, id: "ACK")?.value.name == "A Clash of Kings")
    #expect(entityStore.find(Book.self, id: "ADD")?.value.name == "A Dance with Dragons")

    let newAuthor = Author(id: 1, name: "George R.R MartinI")
    entityStore.store(newAuthor)
    #expect(entityStore.find(Author.self, id: 1)?.value == newAuthor)
    #expect(entityStore.find(AuthorBooks.self, id: 1)?.value.author == newAuthor)
    #expect(retained.current.books.count == 2)
  }

  @Test func `enums`() {
    let author = Author(id: 1, name: "George R.R Martin")
    let retained = entityStore.store(AuthorMedia(author: author, media: .book(Book(id: "ACK", name: "A Clash"))))
    entityStore.store(Book(id: "ACK", name: "A Clash of Kings"))
    #expect(retained.current.media.book?.name == "A Clash of Kings")
  }

  @Test func `aliases`() {
    let currentUser = User(id: 1)
    entityStore.store(currentUser, named: .currentUser)
    #expect(entityStore.find(named: .currentUser).value == currentUser)

    entityStore.removeAlias(named: .currentUser)
    #expect(entityStore.find(named: .currentUser).value == nil)

    let newCurrentUser = User(id: 2)
    entityStore.store(newCurrentUser, named: .currentUser)
    #expect(entityStore.find(named: .currentUser).value == newCurrentUser)
  }

  @Test func `stale data`() {
    let book = Book(id: "ABCD", name: "My Book")
    let retained = entityStore.store(book)
    entityStore.store(book, modifiedAt: Date().stamp)
    entityStore.store(Book(id: "ABCD", name: "Older"), modifiedAt: 9000)
    #expect(retained.current == book)
  }

  @Test func `an entity that nothing retains is released`() {
    let book = Book(id: "ACK", name: "A Clash of Kings")
    _ = entityStore.store(book)
    #expect(entityStore.find(Book.self, id: "ACK") == nil)

    var subscription: EntityStore.Subscription? = entityStore.store(book).observe { _ in }
    let second = entityStore.find(Book.self, id: "ACK")
    subscription = nil
    #expect(entityStore.find(Book.self, id: "ACK")?.value == book && subscription == nil)
    withExtendedLifetime(second) {}
  }
}

extension AliasKey where T == ReadersFirstStepsTests.User {
  static let currentUser = AliasKey("user")
}
