import Coherence

extension SizedOperation {
  static var saving: [SizedOperation] {
    [
      insert, update, deleteOneByOne, deleteByCascade, deleteUnsavedByCascade, obtainPermanentIDs,
      obtainOnePermanentID,
    ]
  }

  private static var insert: SizedOperation {
    inContext("insert and save", books: .none) { context, _, size in
      try SizeCost(of: size) {
        let books = try context.insertBooks(0..<size)
        try context.save()
        return books
      }
    }
  }

  private static var update: SizedOperation {
    inContext("update and save") { context, _, size in
      let books = try context.fetchBooks()
      return try SizeCost(of: size) {
        for book in books { book.title = "Changed" }
        try context.save()
        return books
      }
    }
  }

  private static var deleteOneByOne: SizedOperation {
    inContext("delete members of a list one by one, save", in: .books) { context, _, size in
      let books = try context.fetchBooks()
      return try SizeCost(of: size) {
        for book in books { context.delete(book) }
        try context.save()
        return books
      }
    }
  }

  private static var deleteByCascade: SizedOperation {
    inContext("delete by cascade, save", in: .books) { context, shelf, size in
      try SizeCost(of: size) {
        context.delete(shelf)
        try context.save()
      }
    }
  }

  private static var deleteUnsavedByCascade: SizedOperation {
    inContext("delete unsaved by cascade", books: .none) { context, _, size in
      let shelf = try ShelfObject(context: context)
      let books = try context.insertBooks(0..<size)
      for book in books { book.shelf = shelf }
      return try SizeCost(of: size) {
        context.delete(shelf)
        try context.processPendingChanges()
        return books
      }
    }
  }

  private static var obtainPermanentIDs: SizedOperation {
    inContext("obtainPermanentIDs", books: .none) { context, _, size in
      let books = try context.insertBooks(0..<size)
      return try SizeCost(of: size) {
        try context.obtainPermanentIDs(for: books)
        return books
      }
    }
  }

  private static var obtainOnePermanentID: SizedOperation {
    inContext("obtainPermanentIDs of one, n unsaved", per: .call, books: .none) { context, _, size in
      let books = try context.insertBooks(0..<size)
      // The first call adds all unsaved records to the table of identifiers; later calls find them there.
      try context.obtainPermanentIDs(for: books.suffix(1))
      return try SizeCost(of: calls) {
        for book in books.prefix(calls) { try context.obtainPermanentIDs(for: [book]) }
        return books
      }
    }
  }
}
