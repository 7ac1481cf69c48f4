import Coherence

extension SizedOperation {
  static var lists: [SizedOperation] {
    [
      addOneByOne, removeOneByOne, replace, addManyToMany, removeManyToMany, replaceManyToMany, appendOneByOne,
      appendToReordered, appendOne,
    ]
  }

  // MARK: One-to-many

  private static var addOneByOne: SizedOperation {
    inContext("to-many: add one by one, save") { context, shelf, size in
      let books = try context.fetchBooks()
      return try SizeCost(of: size) {
        for book in books { shelf.books.insert(book) }
        try context.save()
        return books
      }
    }
  }

  private static var removeOneByOne: SizedOperation {
    inContext("to-many: remove one by one, save", in: .books) { context, shelf, size in
      let books = try context.fetchBooks()
      return try SizeCost(of: size) {
        for book in books { shelf.books.remove(book) }
        try context.save()
        return books
      }
    }
  }

  private static var replace: SizedOperation {
    inContext("to-many: replace half the members, save", in: .books) { context, shelf, size in
      let books = try context.fetchBooks()
      let fresh = try context.insertBooks(size..<size + size / 2)
      let members = Array(books.prefix(size / 2)) + fresh
      return try SizeCost(of: size) {
        shelf.books.replace(with: members)
        try context.save()
        return books
      }
    }
  }

  // MARK: Many-to-many

  private static var addManyToMany: SizedOperation {
    inContext("many-to-many: add one by one, save") { context, shelf, size in
      let books = try context.fetchBooks()
      return try SizeCost(of: size) {
        for book in books { shelf.favorites.insert(book) }
        try context.save()
        return books
      }
    }
  }

  private static var removeManyToMany: SizedOperation {
    inContext("many-to-many: remove one by one, save", in: .favorites) { context, shelf, size in
      let books = try context.fetchBooks()
      return try SizeCost(of: size) {
        for book in books { shelf.favorites.remove(book) }
        try context.save()
        return books
      }
    }
  }

  private static var replaceManyToMany: SizedOperation {
    inContext("many-to-many: replace half the members, save", in: .favorites) { context, shelf, size in
      let books = try context.fetchBooks()
      let fresh = try context.insertBooks(size..<size + size / 2)
      let members = Array(books.prefix(size / 2)) + fresh
      return try SizeCost(of: size) {
        shelf.favorites.replace(with: members)
        try context.save()
        return books
      }
    }
  }

  // MARK: Ordered

  private static var appendOneByOne: SizedOperation {
    inContext("ordered: append one by one, save") { context, shelf, size in
      let books = try context.fetchBooks()
      return try SizeCost(of: size) {
        for book in books { shelf.queue.append(book) }
        try context.save()
        return books
      }
    }
  }

  private static var appendToReordered: SizedOperation {
    inContext("ordered: append one by one after a move, save", in: .queue) { context, shelf, size in
      let books = try context.insertBooks(size..<2 * size)
      shelf.queue.move(from: size - 1, to: 0)
      return try SizeCost(of: size) {
        for book in books { shelf.queue.append(book) }
        try context.save()
        return books
      }
    }
  }

  /// Each call uses a new context, which has not read the list.
  private static var appendOne: SizedOperation {
    inLibrary("ordered: append one to a list of n, save", per: .call, in: .queue) { library, size in
      let appends = 10
      var seconds = 0.0
      for number in size..<size + appends {
        let context = library.makeContext()
        seconds += try context.performAndWait {
          let shelf = try library.shelf(in: context)
          let book = try context.insertBooks(number..<number + 1)[0]
          return try Stopwatch.seconds {
            shelf.queue.append(book)
            try context.save()
          }
        }
      }
      return SizeCost(seconds: seconds, count: appends)
    }
  }
}
