import Coherence

extension SizedOperation {
  static var reading: [SizedOperation] {
    [fetchAll, fetchOne, fetchOneBesideUnsaved, fetchOrInsert, fetchOneInChild, count, walk]
  }

  private static var fetchAll: SizedOperation {
    inContext("fetch all") { context, _, size in
      try SizeCost(of: size) { try context.fetchBooks() }
    }
  }

  private static var fetchOne: SizedOperation {
    inContext("fetch one by key", per: .call) { context, _, size in
      try SizeCost(of: calls) {
        for call in 0..<calls { _ = try context.fetchBook(call * (size / calls)) }
      }
    }
  }

  private static var fetchOneBesideUnsaved: SizedOperation {
    inContext("fetch one by key, n unsaved", per: .call, books: .few) { context, _, size in
      let unsaved = try context.insertBooks(calls..<calls + size)
      // The first fetch by a value builds the index of the unsaved records, which later fetches use.
      _ = try context.fetchBook(0)
      return try SizeCost(of: calls) {
        for number in 0..<calls { _ = try context.fetchBook(number) }
        return unsaved
      }
    }
  }

  private static var fetchOrInsert: SizedOperation {
    inContext("fetch by key, insert if missing, nothing saved", books: .few) { context, _, size in
      let cost = try SizeCost(of: size) {
        try (0..<size).map { try context.book($0) ?? context.insertBooks($0..<$0 + 1)[0] }
      }
      guard context.insertedObjects.count == size - calls else { throw BenchError("A book was inserted twice.") }
      return cost
    }
  }

  private static var fetchOneInChild: SizedOperation {
    inLibrary("fetch one by key, n unsaved in the parent", per: .call, books: .few) { library, size in
      let parent = library.makeContext()
      let unsaved = try parent.performAndWait { try parent.insertBooks(calls..<calls + size) }
      let child = library.makeChild(of: parent)
      return try child.performAndWait {
        _ = try child.fetchBook(0)
        return try SizeCost(of: calls) {
          for number in 0..<calls { _ = try child.fetchBook(number) }
          return unsaved
        }
      }
    }
  }

  /// Counts with a condition, because a store may know the number of all its records without counting.
  private static var count: SizedOperation {
    inContext("count with a condition") { context, _, size in
      var request = FetchRequest(BookObject.self)
      request.predicate = .comparison(.path(PropertyPath("pages")), .greaterOrEqual, .value(.int(0)))
      let cost = try SizeCost(of: size) { try context.count(for: request) }
      guard try context.count(for: request) == size else { throw BenchError("The count is wrong.") }
      return cost
    }
  }

  private static var walk: SizedOperation {
    inContext("walk over one relationship", in: .books) { _, shelf, size in
      var numbers = 0
      let cost = try SizeCost(of: size) {
        let books = Array(shelf.books)
        for book in books { numbers += book.number }
        return books
      }
      guard numbers == size * (size - 1) / 2 else { throw BenchError("The walk did not meet every book.") }
      return cost
    }
  }
}
