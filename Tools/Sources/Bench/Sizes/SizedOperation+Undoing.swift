import Coherence

extension SizedOperation {
  static var undoing: [SizedOperation] { [rollback, refreshClean, refreshChanged, reset] }

  private static var rollback: SizedOperation {
    inContext("rollback of changes") { context, _, size in
      let books = try context.changeBooks()
      return try SizeCost(of: size) {
        context.rollback()
        return books
      }
    }
  }

  private static var refreshClean: SizedOperation {
    inContext("refreshAll, all clean") { context, _, size in
      let books = try context.fetchBooks()
      return try SizeCost(of: size) {
        context.refreshAll()
        return books
      }
    }
  }

  private static var refreshChanged: SizedOperation {
    inContext("refreshAll, all changed") { context, _, size in
      let books = try context.changeBooks()
      return try SizeCost(of: size) {
        context.refreshAll()
        return books
      }
    }
  }

  private static var reset: SizedOperation {
    inContext("reset") { context, _, size in
      let books = try context.fetchBooks()
      return try SizeCost(of: size) {
        context.reset()
        return books
      }
    }
  }
}

extension ManagedObjectContext {
  /// Fetches all books, and changes the number of pages of each.
  func changeBooks() throws -> [BookObject] {
    let books = try fetchBooks()
    for book in books { book.pages += 1 }
    return books
  }
}
