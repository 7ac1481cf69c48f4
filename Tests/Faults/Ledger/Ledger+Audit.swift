import CoherenceCore

/// The incomplete saves that an audit found.
struct TornSave: Error, CustomStringConvertible {
  let description: String
}

extension Ledger {
  /// Counts the saves in the store.
  ///
  /// - Throws: ``TornSave`` if a save is incomplete, or missing before the last one.
  func audit() throws -> Int {
    try context.performAndWait {
      context.reset()
      defer { context.reset() }
      let books = try context.fetch(FetchRequest<ManagedObject>(entityName: "Book"))
      guard books.count <= 1 else { throw TornSave(description: "There are \(books.count) books.") }
      let last = try books.first.map { Int(try $0.value(for: "page", as: Int64.self)) } ?? 0

      var request = FetchRequest<ManagedObject>(entityName: "Deposit")
      request.sortKeys = [SortKey("number")]
      let deposits = try context.fetch(request)
      let numbers = try deposits.map { Int(try $0.value(for: "number", as: Int64.self)) }
      guard numbers == Array(1..<(last + 1)) else {
        throw TornSave(description: "The book is at page \(last), the deposits are \(numbers).")
      }
      var coins = 0
      for (number, deposit) in zip(numbers, deposits) {
        coins += Self.size(of: number)
        guard try deposit.objects(for: "coins").count == Self.size(of: number) else {
          throw TornSave(description: "Deposit \(number) of \(last) lacks coins.")
        }
        guard try deposit.value(for: "isPast", as: Bool.self) == (number < last) else {
          throw TornSave(description: "Deposit \(number) of \(last) is not marked as it should be.")
        }
      }
      let found = try context.count(for: FetchRequest<ManagedObject>(entityName: "Coin"))
      guard found == coins else { throw TornSave(description: "There are \(found) coins, not \(coins).") }
      return last
    }
  }
}
