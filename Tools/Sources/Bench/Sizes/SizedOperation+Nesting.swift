import Coherence

extension SizedOperation {
  /// Operations with two contexts.
  static var nesting: [SizedOperation] {
    [mergeIntoClean, mergeIntoChanged, saveChangesIntoParent, saveInsertsIntoParent]
  }

  private static var mergeIntoClean: SizedOperation {
    inLibrary("mergeChanges into a context that has them") { library, size in
      try mergeChanges(in: library, size) { try $0.fetchBooks() }
    }
  }

  private static var mergeIntoChanged: SizedOperation {
    inLibrary("mergeChanges into a context that edits them") { library, size in
      try mergeChanges(in: library, size) { try $0.changeBooks() }
    }
  }

  /// Merges the changes of one context into another context.
  ///
  /// - Parameter prepare: Fetches the books in the context that receives the changes.
  private static func mergeChanges(
    in library: SizeLibrary, _ size: Int, _ prepare: (ManagedObjectContext) throws -> [BookObject]
  ) throws -> SizeCost {
    let context = library.makeContext()
    let books = try context.performAndWait { try prepare(context) }
    let changes = try library.changeTitles()
    // The context merges the changes on its own executor, or at an earlier `perform`.
    let cost = try SizeCost(of: size) {
      context.mergeChanges(fromContextDidSave: changes)
      context.performAndWait {}
    }
    try context.performAndWait {
      guard books.last?.title == SizeLibrary.changedTitle else {
        throw BenchError("The context does not show the changes that it merged.")
      }
    }
    return cost
  }

  private static var saveChangesIntoParent: SizedOperation {
    inLibrary("save of changes into the parent") { library, size in
      let child = library.makeChild(of: library.makeContext())
      return try child.performAndWait {
        let books = try child.changeBooks()
        return try SizeCost(of: size) {
          try child.save()
          return books
        }
      }
    }
  }

  private static var saveInsertsIntoParent: SizedOperation {
    inLibrary("save of inserts into the parent", books: .none) { library, size in
      let child = library.makeChild(of: library.makeContext())
      return try child.performAndWait {
        let books = try child.insertBooks(0..<size)
        return try SizeCost(of: size) {
          try child.save()
          return books
        }
      }
    }
  }
}
