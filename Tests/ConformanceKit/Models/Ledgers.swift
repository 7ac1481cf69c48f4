import CoherenceCore

/// A model whose orders lead to customers of another store.
enum Ledgers {
  static let model = soundModel(configurations: ["Orders": ["Order"], "People": ["Person", "Patron"]]) {
    Entity("Order", class: LedgerOrder.self) {
      Attribute("name", .string)
      Attribute("customer", .weakReference(to: "Person"), optional: true)
      Attribute("clerk", .weakReference(to: "Person"))
    }
    Entity("Person", class: LedgerPerson.self) {
      Attribute("name", .string)
      Relationship("friends", toMany: "Person", inverse: "friends")
    }
    Entity("Patron", class: LedgerPatron.self, parent: "Person") { Attribute("rank", .int64, default: 1) }
  }

  /// A stack with the two stores.
  struct Stack {
    let coordinator: PersistentStoreCoordinator
    let context: ManagedObjectContext
    let people: any PersistentStore
    let place: any StoreLocation
    let interposition = Interposition()

    init(_ stack: ConformanceStack) throws {
      coordinator = stack.makeCoordinator(model: Ledgers.model)
      let orders = try stack.makeLocation()
      try stack.attach(
        orders, to: coordinator, type: try interposition.type(for: orders.type), configuration: "Orders")
      // A companion may lose its records when it is detached.
      place = try stack.makeLocation()
      people = try stack.attach(
        place, to: coordinator, type: try interposition.type(for: place.type), configuration: "People")
      context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    }

    /// Saves orders, each with a customer and a clerk of its own.
    func fill(_ count: Int) throws {
      try context.performAndWait {
        for number in 0..<count {
          let order = try context.make("Order", ["name": "o\(number)"])
          try order.setReferencedObject(try context.make("Person", ["name": "p\(number)"]), for: "customer")
          try order.setReferencedObject(try context.make("Patron", ["name": "c\(number)"]), for: "clerk")
        }
        try context.save()
        context.reset()
      }
    }
  }
}

final class LedgerOrder: ManagedObject {
  static let customerKey = AttributeKey<WeakReference<LedgerPerson>?>("customer")
  static let clerkKey = AttributeKey<WeakReference<LedgerPerson>>("clerk")
  var customer: WeakReference<LedgerPerson>? {
    get { self[Self.customerKey] }
    set { self[Self.customerKey] = newValue }
  }
  var clerk: WeakReference<LedgerPerson> {
    get { self[Self.clerkKey] }
    set { self[Self.clerkKey] = newValue }
  }
}

class LedgerPerson: ManagedObject {}
final class LedgerPatron: LedgerPerson {}
