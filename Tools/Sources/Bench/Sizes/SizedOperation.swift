import Coherence

/// An operation whose cost is measured with increasing numbers of records.
struct SizedOperation {
  /// The unit of the cost of a run.
  enum Share: String, Codable {
    /// The operation works on all records.
    case record
    /// The operation works on one record or one list. The other records in the store must not affect its cost.
    case call
  }

  /// The number of books in the store before the operation.
  enum Books {
    /// The number of the size.
    case all
    /// The number ``SizedOperation/calls``.
    case few
    case none

    fileprivate func count(_ size: Int) -> Int {
      switch self {
      case .all: size
      case .few: SizedOperation.calls
      case .none: 0
      }
    }
  }

  /// The number of calls in one run of an operation with a cost for each call.
  static let calls = 100

  let name: String
  let share: Share
  /// Runs the operation once, on a new store with the given number of records.
  let run: (SizeStores, Int) throws -> SizeCost

  /// All operations, in the order of the table.
  static var all: [SizedOperation] { reading + saving + lists + undoing + nesting + merging }

  // MARK: Making operations

  /// Makes an operation on a library.
  ///
  /// - Parameters:
  ///   - lists: The lists of the shelf with all books.
  ///   - books: The number of books in the library.
  ///   - work: The operation, which receives the size. It measures its own work without the preparation.
  static func inLibrary(
    _ name: String, per share: Share = .record, in lists: ShelfLists = [], books: Books = .all,
    _ work: @escaping (SizeLibrary, Int) throws -> SizeCost
  ) -> SizedOperation {
    SizedOperation(name: name, share: share) { stores, size in
      try stores.withConfiguration { configuration in
        let library = try SizeLibrary(configuration, count: books.count(size), in: lists)
        try stores.finishBackgroundWork()
        let cost = try work(library, size)
        try library.close()
        return cost
      }
    }
  }

  /// Makes an operation in one context of a library, inside `performAndWait`.
  ///
  /// - Parameter work: The operation, which receives the context, its shelf and the size.
  static func inContext(
    _ name: String, per share: Share = .record, in lists: ShelfLists = [], books: Books = .all,
    _ work: @escaping (ManagedObjectContext, ShelfObject, Int) throws -> SizeCost
  ) -> SizedOperation {
    inLibrary(name, per: share, in: lists, books: books) { library, size in
      let context = library.makeContext()
      return try context.performAndWait { try work(context, try library.shelf(in: context), size) }
    }
  }
}
