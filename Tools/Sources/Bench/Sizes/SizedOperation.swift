import Coherence

/// An operation whose cost is measured with more and more records.
struct SizedOperation {
  /// The unit of the cost of a run.
  enum Share: String, Codable {
    /// The operation works on all records.
    case record
    /// The operation works on one record, or on one list; all the other records are only present.
    case call
  }

  /// The number of books in the store before the operation.
  enum Books {
    /// As many as the size says.
    case all
    /// ``SizedOperation/calls``.
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

  /// The number of repetitions of an operation with a cost per call in one run.
  static let calls = 100

  let name: String
  let share: Share
  /// Runs the operation once, on a store of its own, with so many records.
  let run: (SizeStores, Int) throws -> SizeCost

  /// All operations, in the order of the table.
  static var all: [SizedOperation] { reading + saving + lists + undoing + nesting + merging }

  // MARK: Making operations

  /// An operation on a library.
  ///
  /// - Parameters:
  ///   - lists: The lists of the shelf with all books.
  ///   - books: How many books the library has.
  ///   - work: The operation, given the size. It times its own work, and leaves its preparation out.
  static func inLibrary(
    _ name: String, per share: Share = .record, in lists: ShelfLists = [], books: Books = .all,
    _ work: @escaping (SizeLibrary, Int) throws -> SizeCost
  ) -> SizedOperation {
    SizedOperation(name: name, share: share) { stores, size in
      try stores.withConfiguration { configuration in
        let library = try SizeLibrary(configuration, count: books.count(size), in: lists)
        try stores.settle()
        let cost = try work(library, size)
        try library.close()
        return cost
      }
    }
  }

  /// An operation in one context of a library, inside `performAndWait`.
  ///
  /// - Parameter work: The operation, given the context, its shelf and the size.
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
