import CoherenceCore
import Foundation

extension ConformanceSubject {
  /// References to records of other stores.
  static let weakReferences = ConformanceSubject("Weak references") {
    following
    joins
    conditions
    reads
    missing
    coding
  }

  private static func order(_ context: ManagedObjectContext, _ name: String = "o0") throws -> LedgerOrder {
    try unwrap(try context.one("Order", where: equal("name", name)) as? LedgerOrder, "an order")
  }

  @CasesBuilder private static var following: [Case] {
    Case("a weak reference leads to an object of another store") { stack in
      let ledger = try Ledgers.Stack(stack)
      try ledger.fill(1)
      try ledger.context.performAndWait { context in
        let order = try order(context)
        let person = try unwrap(order.referencedObject(for: LedgerOrder.customerKey), "a customer")
        try expectEqual(try person.label, "p0")
        try expect(person.objectID.storeIdentifier != order.objectID.storeIdentifier, "another store")
        try expect(try order.referencedObject(for: "customer") === person, "one identity")
        try expect(order.referencedObject(for: LedgerOrder.clerkKey) is LedgerPatron, "the object's own class")
        order.customer = nil
        try expect(order.referencedObject(for: LedgerOrder.customerKey) == nil, "no customer")
        try expect(context.reportedErrors.isEmpty, "nothing to report")
      }
    }
    Case("a weak reference leads to an unsaved object, which is saved later") { stack in
      let ledger = try Ledgers.Stack(stack)
      try ledger.context.performAndWait { context in
        let order = try unwrap(try context.make("Order", ["name": "o0"]) as? LedgerOrder)
        let person = try unwrap(try context.make("Person", ["name": "new"]) as? LedgerPerson)
        order.customer = try WeakReference(to: person)
        order.clerk = try WeakReference(to: person)
        try expect(order.referencedObject(for: LedgerOrder.customerKey) === person, "the unsaved object")
        try expect(person.isInserted && !person.objectID.isTemporaryID, "an unsaved object with an identifier")
        try context.save()
        context.reset()
        try expectEqual(try self.order(context).referencedObject(for: LedgerOrder.customerKey)?.label, "new")
      }
    }
    Case("a weak reference is assigned in one context and followed in another and in a child") { stack in
      let ledger = try Ledgers.Stack(stack)
      try ledger.fill(2)
      let other = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: ledger.coordinator)
      let reference = try other.performAndWait {
        try WeakReference(
          to: try unwrap(try other.one("Person", where: equal("name", "p1")) as? LedgerPerson, "a person"))
      }
      let child = ManagedObjectContext(parent: ledger.context)
      try child.performAndWait {
        let order = try order(child)
        order.customer = reference
        try expectEqual(try order.referencedObject(for: LedgerOrder.customerKey)?.label, "p1")
        try child.save()
      }
      try ledger.context.performAndWait { try $0.save() }
      try other.performAndWait { try expectEqual(try order(other).customer, reference) }
    }
    Case("the delete of a record changes no weak reference, and a required reference needs a value") { stack in
      let ledger = try Ledgers.Stack(stack)
      try ledger.fill(1)
      try ledger.context.performAndWait { context in
        let order = try order(context)
        let person = try unwrap(order.referencedObject(for: LedgerOrder.customerKey))
        context.delete(person)
        try expect(order.referencedObject(for: LedgerOrder.customerKey) == nil, "a deleted object")
        try context.save()
        try expect(order.customer != nil && order.version == 1, "the order to be unchanged")
        let incomplete = try context.make("Order", ["name": "o"])
        let error = try expectThrows(.validationFailed) { try context.save() }
        try expectEqual(error.failures.map(\.propertyName), ["clerk"])
        context.delete(incomplete)
      }
    }
  }

  @CasesBuilder private static var joins: [Case] {
    Case("a weak reference to an inserted record leads to the stored record that the inserted record becomes") {
      stack in
      let model = try ManagedObjectModel {
        Entity("Genre", uniqueness: [["name"]]) { Attribute("name", .string) }
        Entity("Note") {
          Attribute("name", .string)
          Attribute("genre", .weakReference(to: "Genre"), optional: true)
        }
      }
      try stack.reopen(at: try stack.makeLocation(), model: model)
      try stack.write { context in
        try context.make("Genre", ["name": "Jazz"])
        try context.make("Note", ["name": "changed"])
      }
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let genre = try context.make("Genre", ["name": "Jazz"])
        for note in [try context.one("Note"), try context.make("Note", ["name": "new"])] {
          try note.setReferencedObject(genre, for: "genre")
        }
        try context.save()
        try expect(!context.hasChanges, "nothing left to save")
      }
      for reader in [context, stack.context()] {
        try reader.performAndWait {
          let genre = try reader.one("Genre")
          for note in try reader.all("Note") {
            try expect(try note.referencedObject(for: "genre") === genre, "the stored genre")
          }
        }
      }
    }
  }

  @CasesBuilder private static var conditions: [Case] {
    Case("a condition compares weak references by identity") { stack in
      let ledger = try Ledgers.Stack(stack)
      try ledger.fill(3)
      try ledger.context.performAndWait { context in
        let reference = try unwrap(try order(context, "o1").customer, "a reference")
        try expectEqual(try context.names("Order", where: equal("customer", reference)), ["o1"])
        try expectEqual(
          try context.names("Order", where: try FetchPredicate(format: "customer == %@", reference)), ["o1"])
        try expectEqual(try context.names("Order", where: compare("customer", .notEqual, reference)), ["o0", "o2"])
        let others = try ["o0", "o2"].map { try order(context, $0).customer }
        try expectEqual(try context.names("Order", where: among("customer", others)), ["o0", "o2"])
        try order(context, "o2").customer = nil
        try expectEqual(try context.names("Order", where: equal("customer", String?.none)), ["o2"])
      }
    }
  }

  @CasesBuilder private static var reads: [Case] {
    Case("the records that fetched objects refer to are read together") { stack in
      let ledger = try Ledgers.Stack(stack)
      try ledger.fill(40)
      try ledger.context.performAndWait { context in
        let orders = try context.all("Order").compactMap { $0 as? LedgerOrder }
        let before = ledger.interposition.fetchCount
        for order in orders { try expect(order.referencedObject(for: LedgerOrder.clerkKey) != nil, "a clerk") }
        try expect(ledger.interposition.fetchCount - before <= 2, "one read, not one for each order")
      }
    }
    Case("a fetch prefetches weak references, and relationships behind them") { stack in
      let ledger = try Ledgers.Stack(stack)
      try ledger.fill(40)
      try ledger.context.performAndWait { context in
        var request = FetchRequest<LedgerOrder>(entityName: "Order")
        request.relationshipsForPrefetching = ["customer.friends", "clerk"]
        let orders = try context.fetch(request)
        let before = ledger.interposition.fetchCount
        for order in orders {
          let person = try unwrap(order.referencedObject(for: LedgerOrder.customerKey), "a customer")
          try expectEqual(try person.objects(for: "friends").count, 0)
          try expect(order.referencedObject(for: LedgerOrder.clerkKey) != nil, "a clerk")
        }
        try expectEqual(ledger.interposition.fetchCount, before)
      }
    }
    Case("many weak references are followed by one read") { stack in
      let ledger = try Ledgers.Stack(stack)
      try ledger.fill(30)
      try ledger.context.performAndWait { context in
        let references = try context.all("Order").compactMap { ($0 as? LedgerOrder)?.customer }
        let before = ledger.interposition.fetchCount
        let objects = try context.objects(referencedBy: references)
        try expectEqual(ledger.interposition.fetchCount - before, 1)
        try expectEqual(Set(objects.keys), Set(references))
        try expectEqual(try context.object(referencedBy: references[3]), objects[references[3]])
      }
    }
  }

  @CasesBuilder private static var missing: [Case] {
    Case("a dangling reference is nil and is reported, and the order stays as it is") { stack in
      let ledger = try Ledgers.Stack(stack)
      try ledger.fill(2)
      try ledger.context.performAndWait { context in
        context.delete(try context.one("Person", where: equal("name", "p0")))
        try context.save()
        context.reset()
        let order = try order(context)
        try expect(order.referencedObject(for: LedgerOrder.customerKey) == nil, "no object")
        let report = try unwrap(context.reportedErrors.first as? CoherenceError, "a report")
        try expectEqual(report.code, .recordVanished)
        try expect(!order.isUnavailable && order.customer != nil, "the reference to stay")
        try expect(try order.referencedObject(for: "customer") == nil, "no object by name")
        try expectEqual(try context.objects(referencedBy: [try unwrap(order.customer)]).count, 0)
        try order.setValue("changed", for: "name")
        try context.save()
      }
    }
    Case("a weak reference to an entity that the store does not hold is reported, and prefetches leave it out") {
      stack in
      let ledger = try Ledgers.Stack(stack)
      try ledger.fill(2)
      try ledger.context.performAndWait { context in
        let order = try order(context)
        let store = try unwrap(order.objectID.storeIdentifier, "a store")
        // The text has stayed from a model with the people in the store of the orders.
        try order.setValue("x-coherence://\(store)/Person/p1", for: "customer")
        try context.save()
        context.reset()
        var request = FetchRequest<LedgerOrder>(entityName: "Order").sort("name")
        request.relationshipsForPrefetching = ["customer"]
        let orders = try context.fetch(request)
        try expect(orders[0].referencedObject(for: LedgerOrder.customerKey) == nil, "no object")
        try expectEqual((context.reportedErrors.first as? CoherenceError)?.code, .noStore)
        try expect(!orders[0].isUnavailable, "the order to be available")
        try expectThrows(.noStore) { try orders[0].referencedObject(for: "customer") }
        try expectEqual(try orders[1].referencedObject(for: LedgerOrder.customerKey)?.label, "p1")
        try orders[0].setValue("changed", for: "name")
        try context.save()
      }
    }
    Case("a weak reference survives that its store is detached, and leads to the record again") { stack in
      let ledger = try Ledgers.Stack(stack)
      try ledger.fill(1)
      let reference = try ledger.context.performAndWait { context in
        let reference = try unwrap(try order(context).customer)
        context.reset()
        return reference
      }
      try ledger.coordinator.remove(ledger.people)
      try ledger.context.performAndWait { context in
        let order = try order(context)
        try expect(order.referencedObject(for: LedgerOrder.customerKey) == nil, "no object")
        try expectEqual((context.reportedErrors.first as? CoherenceError)?.code, .storeDetached)
        try expectThrows(.storeDetached) { try order.referencedObject(for: "customer") }
        try expectThrows(.storeDetached) { try context.object(referencedBy: reference) }
        try order.setValue("changed", for: "name")
        try context.save()
        try expectEqual(order.customer, reference)
      }
      try stack.attach(ledger.place, to: ledger.coordinator, configuration: "People")
      try ledger.context.performAndWait { context in
        let order = try order(context, "changed")
        try expectEqual(try order.referencedObject(for: LedgerOrder.customerKey)?.label, "p0")
      }
    }
  }

  @CasesBuilder private static var coding: [Case] {
    Case("a text that is no identifier is no value of a weak reference") { stack in
      let ledger = try Ledgers.Stack(stack)
      try ledger.context.performAndWait { context in
        let order = try context.make("Order", ["name": "o"])
        try expectThrows(.invalidValue) { try order.setValue("nobody", for: "customer") }
        try expectThrows(.wrongType) { try order.setReferencedObject(order, for: "customer") }
        try expectThrows(.wrongType) { try order.referencedObject(for: "name") }
      }
    }
    Case("a weak reference is coded as the text of its identity") { stack in
      let ledger = try Ledgers.Stack(stack)
      try ledger.fill(1)
      let reference = try ledger.context.performAndWait { try unwrap(try order($0).customer) }
      let data = try JSONEncoder().encode([reference])
      try expectEqual(try JSONDecoder().decode([String].self, from: data), [try unwrap(reference.id).description])
      try expectEqual(try JSONDecoder().decode([WeakReference<LedgerPerson>].self, from: data), [reference])
    }
    Case("a model refuses a weak reference to an entity that it lacks") { _ in
      try expectThrows(.invalidModel) {
        try ManagedObjectModel { Entity("A") { Attribute("b", .weakReference(to: "B"), optional: true) } }
      }
    }
  }
}
