import Coherence

/// The owner of the lists of the size table.
final class ShelfObject: ManagedObject {
  static let booksKey = ToManyKey<BookObject>("books")
  static let favoritesKey = ToManyKey<BookObject>("favorites")
  static let queueKey = OrderedToManyKey<BookObject>("queue")

  /// One-to-many. Deleting the shelf deletes its books.
  var books: ToMany<BookObject> { self[Self.booksKey] }
  /// Many-to-many.
  var favorites: ToMany<BookObject> { self[Self.favoritesKey] }
  /// One-to-many, ordered.
  var queue: OrderedToMany<BookObject> { self[Self.queueKey] }

  static let entityDeclaration = Entity("Shelf", class: ShelfObject.self) {
    Attribute("name", .string, optional: true)
    Relationship("books", toMany: "Book", inverse: "shelf", deleteRule: .cascade)
    Relationship("favorites", toMany: "Book", inverse: "fans")
    Relationship("queue", toMany: "Book", inverse: "queueShelf", ordered: true)
  }
}

/// A record of the size table.
final class BookObject: ManagedObject {
  static let numberKey = AttributeKey<Int>("number")
  static let titleKey = AttributeKey<String>("title")
  static let pagesKey = AttributeKey<Int>("pages")
  static let shelfKey = ToOneKey<ShelfObject>("shelf")

  /// The key of the record.
  var number: Int {
    get { self[Self.numberKey] }
    set { self[Self.numberKey] = newValue }
  }
  var title: String {
    get { self[Self.titleKey] }
    set { self[Self.titleKey] = newValue }
  }
  var pages: Int {
    get { self[Self.pagesKey] }
    set { self[Self.pagesKey] = newValue }
  }
  var shelf: ShelfObject? {
    get { self[Self.shelfKey] }
    set { self[Self.shelfKey] = newValue }
  }

  static let entityDeclaration = Entity("Book", class: BookObject.self, uniqueness: [["number"]]) {
    Attribute("number", .int64)
    Attribute("title", .string)
    Attribute("pages", .int64)
    Relationship("shelf", toOne: "Shelf", inverse: "books")
    Relationship("queueShelf", toOne: "Shelf", inverse: "queue")
    Relationship("fans", toMany: "Shelf", inverse: "favorites")
  }
}

extension ManagedObjectContext {
  /// Inserts books with the given numbers.
  func insertBooks(_ numbers: Range<Int>) throws -> [BookObject] {
    try numbers.map { number in
      let book = try BookObject(context: self)
      book.number = number
      book.title = "Book \(number)"
      book.pages = number % 1000
      return book
    }
  }

  /// Fetches all books, by key.
  func fetchBooks() throws -> [BookObject] { try fetch(FetchRequest(BookObject.self)) }

  /// Fetches the book with a number.
  ///
  /// - Throws: ``BenchError`` when the number of such books is not one.
  func fetchBook(_ number: Int) throws -> BookObject {
    guard let book = try book(number) else { throw BenchError("No book has the number \(number).") }
    return book
  }

  /// The book with a number; `nil` without one.
  ///
  /// - Throws: ``BenchError`` for several such books.
  func book(_ number: Int) throws -> BookObject? {
    var request = FetchRequest(BookObject.self)
    request.predicate = .comparison(.path(PropertyPath("number")), .equal, .value(.int(Int64(number))))
    let books = try fetch(request)
    guard books.count < 2 else { throw BenchError("\(books.count) books have the number \(number).") }
    return books.first
  }
}
