import CoherenceCore
import Foundation

/// A book of deposits that shows the number of saves in a store, and whether each save is complete.
///
/// Save number *n* inserts deposit *n* with its coins, turns the book's page and marks the deposit before: a change of
/// every kind, in several tables and, for some numbers, on many pages.
final class Ledger: Sendable {
  let context: ManagedObjectContext
  private let coordinator: PersistentStoreCoordinator

  /// Opens the ledger in a store. Makes a missing store.
  init(type: StoreType, at url: URL, options: [String: OptionValue] = [:]) throws {
    coordinator = PersistentStoreCoordinator(managedObjectModel: Self.model)
    try coordinator.addPersistentStore(StoreConfiguration(type: type, options: options, location: url), at: url)
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  deinit { try? close() }

  var store: any PersistentStore { coordinator.persistentStores[0] }

  func close() throws {
    context.performAndWait { context.reset() }
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  static let model: ManagedObjectModel = {
    do {
      return try ManagedObjectModel {
        Entity("Book") { Attribute("page", .int64, default: 0) }
        Entity("Deposit", uniqueness: [["number"]]) {
          Attribute("number", .int64)
          Attribute("isPast", .bool, default: false)
          Relationship("coins", toMany: "Coin", inverse: "deposit", deleteRule: .cascade)
        }
        Entity("Coin") {
          Attribute("mint", .string)
          Relationship("deposit", toOne: "Deposit", inverse: "coins")
        }
      }
    } catch {
      fatalError("\(error)")
    }
  }()

  /// The number of coins of a deposit: usually few, sometimes many.
  static func size(of number: Int) -> Int { number % 10 == 0 ? 150 : number % 7 + 1 }

  // MARK: Saving

  /// Makes the next deposit in the context without saving. If the store fails, the context keeps no part of the
  /// deposit.
  ///
  /// - Returns: The number of the deposit.
  func prepare() throws -> Int {
    let book = try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first
    let number = Int(try book?.value(for: "page", as: Int64.self) ?? 0) + 1
    let former = try deposit(number - 1)
    let open = try book ?? context.insertNewObject(forEntityName: "Book")
    try open.setValue(Int64(number), for: "page")
    try former?.setValue(true, for: "isPast")
    let deposit = try context.insertNewObject(forEntityName: "Deposit")
    try deposit.setValue(Int64(number), for: "number")
    for coin in 0..<Self.size(of: number) {
      let object = try context.insertNewObject(forEntityName: "Coin")
      try object.setValue(String(repeating: "mint \(number) ", count: coin % 20 + 1), for: "mint")
      try object.setObject(deposit, for: "deposit")
    }
    return number
  }

  /// Makes and saves the next deposit.
  ///
  /// - Returns: The number of the deposit, which is acknowledged on return.
  @discardableResult
  func save() throws -> Int {
    try context.performAndWait {
      let number = try prepare()
      try context.save()
      return number
    }
  }

  private func deposit(_ number: Int) throws -> ManagedObject? {
    var request = FetchRequest<ManagedObject>(entityName: "Deposit")
    request.predicate = .comparison(.path(PropertyPath("number")), .equal, .value(.int(Int64(number))), [])
    return try context.fetch(request).first
  }
}
