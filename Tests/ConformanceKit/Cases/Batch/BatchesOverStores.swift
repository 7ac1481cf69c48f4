import CoherenceCore

extension ConformanceSubject {
  /// Batch requests, batch inserts and claims in a context with several stores.
  static let batchesOverStores = ConformanceSubject("Batch requests over several stores") {
    failures
    inserts
    claimsOverStores
    readOnlyStores
  }

  /// A context with two stores, each with an album for each letter of its text.
  ///
  /// - Parameter readOnly: The indices of the stores that are opened to read only.
  private static func divided(
    _ stack: ConformanceStack, _ titles: String..., readOnly: Set<Int> = []
  ) throws -> (context: ManagedObjectContext, stores: [any PersistentStore]) {
    let locations = try titles.map { _ in try stack.makeLocation() }
    let filling = stack.makeCoordinator()
    for (location, titles) in zip(locations, titles) {
      let store = try stack.attach(location, to: filling)
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: filling)
      try context.performAndWait {
        for title in titles { try context.assign(try context.make("Album", ["title": String(title)]), to: store) }
        try context.save()
      }
    }
    let coordinator = stack.makeCoordinator()
    let stores = try locations.indices.map { index in
      let options: [String: OptionValue] = readOnly.contains(index) ? [StoreOption.readOnly: true] : [:]
      return try stack.attach(locations[index], to: coordinator, options: options)
    }
    return (ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator), stores)
  }

  /// The albums that no claim has taken, by title.
  private static var free: FetchRequest<ManagedObject> {
    FetchRequest(entityName: "Album").filter(equal("isLive", false)).sort("title")
  }

  private static func claim(_ context: ManagedObjectContext, limit: Int) throws -> [String] {
    try context.claim(free, limit: limit, set: ["isLive": true]).map { try context.existing($0).label }
  }

  @CasesBuilder private static var failures: [Case] {
    Case("a batch update that fails in the first of several stores changes none of them") { stack in
      let (context, stores) = try divided(stack, "A", "B")
      try context.performAndWait {
        for (store, year) in zip(stores, [Int(Int32.max), 1]) {
          let album = try context.make("Album", ["title": "new", "year": year])
          try context.assign(album, to: store)
        }
        try context.save()
        let expressions: [String: UpdateExpression] = ["year": .sum(.attribute("year"), .value(.int(1)))]
        let error = try expectThrows(.invalidValue) {
          try context.execute(BatchUpdateRequest(entityName: "Album", expressions: expressions))
        }
        try expect(error.outcomes.isEmpty, "no outcome of a store that the request did not change")
        let albums = try context.all("Album", where: equal("title", "new"), sort: [SortKey("year")])
        try expectEqual(try albums.map { try $0.value(for: "year") }, [.int(1), .int(Int64(Int32.max))])
        try expectEqual(albums.map(\.version), [1, 1])
      }
    }
    Case("a batch delete that fails in a later store deletes in the earlier one, and tells the outcome of each") {
      stack in
      let (context, stores) = try divided(stack, "AB", "CD", readOnly: [1])
      try context.performAndWait {
        let albums = try context.all("Album", sort: [SortKey("title")])
        let error = try expectThrows(.partialSave) { try context.execute(BatchDeleteRequest(entityName: "Album")) }
        try expectEqual(error.outcomes, [stores[0].identifier: .applied, stores[1].identifier: .notApplied])
        try expectEqual((error.underlying as? CoherenceError)?.code, .storeReadOnly)
        try expectEqual(albums.map(\.isDeleted), [true, true, false, false])
        try expectEqual(try context.names("Album"), ["C", "D"])
      }
    }
  }

  @CasesBuilder private static var inserts: [Case] {
    Case("a batch insert goes into the first store, or into the store that the call names") { stack in
      let (context, stores) = try divided(stack, "A", "B")
      let stranger = try stack.store
      try context.performAndWait {
        let rows: [[String: AttributeValue]] = [["title": .string("new")]]
        let request = BatchInsertRequest(entityName: "Album", rows: rows)
        let first = try context.execute(request).inserted
        try expectEqual(first.map(\.storeIdentifier), [stores[0].identifier])
        let second = try context.execute(request, in: stores[1]).inserted
        try expectEqual(second.map(\.storeIdentifier), [stores[1].identifier])
        _ = try expectThrows(.noStore) { try context.execute(request, in: stranger) }
        try expectEqual(try context.names("Album"), ["A", "B", "new", "new"])
      }
    }
  }

  @CasesBuilder private static var claimsOverStores: [Case] {
    Case("a claim asks the stores in their order, until its limit is reached") { stack in
      let (context, stores) = try divided(stack, "CD", "AB")
      try context.performAndWait {
        try expectEqual(try claim(context, limit: 1), ["C"])
        try expectEqual(try claim(context, limit: 2), ["D", "A"])
        try expectEqual(try context.claim(free, limit: 2, in: stores[0], set: ["isLive": true]), [])
        try expectEqual(try claim(context, limit: 2), ["B"])
        try expectEqual(try claim(context, limit: 2), [])
        try expectEqual(try context.all("Album").map(\.version), [2, 2, 2, 2])
      }
    }
    Case("a claim keeps the records of an earlier store when a later store fails, and the next claim throws") {
      stack in
      let (context, _) = try divided(stack, "A", "BC")
      try context.performAndWait {
        let unmarked = FetchRequest<ManagedObject>(entityName: "Album").filter(equal("barcode", nil)).sort("title")
        func claimed(_ limit: Int) throws -> [String] {
          try context.claim(unmarked, limit: limit, set: ["barcode": "1"]).map { try context.existing($0).label }
        }
        try expectEqual(try claimed(3), ["A"])
        _ = try expectThrows(.uniquenessViolated) { try claimed(3) }
        try expectEqual(try claimed(1), ["B"])
        try expectEqual(try context.names("Album", where: equal("barcode", nil)), ["C"])
      }
    }
    Case("a claim takes the records of the stores before and after a store that fails") { stack in
      let (context, _) = try divided(stack, "A", "BC", "D")
      try context.performAndWait {
        let unmarked = FetchRequest<ManagedObject>(entityName: "Album").filter(equal("barcode", nil)).sort("title")
        let claimed = try context.claim(unmarked, limit: 3, set: ["barcode": "1"])
        try expectEqual(try claimed.map { try context.existing($0).label }, ["A", "D"])
        try expectEqual(try context.names("Album", where: equal("barcode", nil)), ["B", "C"])
      }
    }
    withAndWithoutOptionalParts("a claim without subentities takes the entity's own records alone") { stack in
      try stack.write { context in
        try context.make("Legend", ["name": "A"])
        try context.make("Artist", ["name": "B"])
      }
      try stack.read { context in
        var request = FetchRequest<ManagedObject>(entityName: "Artist").filter(equal("country", nil)).sort("name")
        request.includesSubentities = false
        let claimed = try context.claim(request, limit: 2, set: ["country": "XX"])
        try expectEqual(try claimed.map { try context.existing($0).label }, ["B"])
        try expectEqual(try context.names("Performer", where: equal("country", nil)), ["A"])
      }
    }
    withAndWithoutOptionalParts("a claim sets the values derived from its values", model: Venues.model) { stack in
      try stack.write { try $0.make("Seat", ["name": "a", "number": 1]) }
      try stack.read { context in
        let seat = try context.one("Seat")
        let before = try seat.value(for: "savedAt")
        let request = FetchRequest<ManagedObject>(entityName: "Seat").filter(equal("name", "a"))
        try expectEqual(try context.claim(request, limit: 1, set: ["name": "\u{C9}"]), [seat.objectID])
        try expectEqual(try ["name", "nameFold"].map { try seat.value(for: $0) }, [.string("\u{C9}"), .string("e")])
        try expect(try seat.value(for: "savedAt").order(to: before) > 0, "a later time")
      }
    }
  }

  @CasesBuilder private static var readOnlyStores: [Case] {
    Case("a claim leaves out the records of a store that only reads, unless the call names the store") { stack in
      let (context, stores) = try divided(stack, "A", "B", readOnly: [0])
      try context.performAndWait {
        _ = try expectThrows(.storeReadOnly) {
          try context.claim(free, limit: 5, in: stores[0], set: ["isLive": true])
        }
        try expectEqual(try claim(context, limit: 5), ["B"])
        try expectEqual(try claim(context, limit: 5), [])
        try expectEqual(try context.names("Album", where: equal("isLive", false)), ["A"])
      }
    }
    Case("a claim in stores that only read is refused") { stack in
      let (context, _) = try divided(stack, "A", "B", readOnly: [0, 1])
      try context.performAndWait {
        _ = try expectThrows(.storeReadOnly) { try claim(context, limit: 5) }
        try expectEqual(try context.number(of: "Album", where: equal("isLive", false)), 2)
      }
    }
    Case("a batch request changes the records of the other stores beside a store that only reads and has none") {
      stack in
      let (context, stores) = try divided(stack, "A", "B", readOnly: [0])
      try context.performAndWait {
        let update = BatchUpdateRequest(
          entityName: "Album", predicate: equal("title", "B"), values: ["year": 1])
        try expectEqual(try context.execute(update).map(\.storeIdentifier), [stores[1].identifier])
        let delete = BatchDeleteRequest(entityName: "Album", predicate: equal("year", 1))
        try expectEqual(try context.execute(delete).count, 1)
        try expectEqual(try context.names("Album"), ["A"])
      }
    }
  }
}
