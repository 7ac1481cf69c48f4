import CoherenceCore

extension ConformanceSubject {
  static let ranges = ConformanceSubject("Limits and offsets") {
    ranged("a limit takes the first records", limit: 2, offset: 0, [0, 1])
    ranged("an offset leaves out the first records", limit: nil, offset: 7, [7, 8, 9])
    ranged("a limit counts from the offset", limit: 3, offset: 2, [2, 3, 4])
    ranged("an offset beyond the end finds nothing", limit: 3, offset: 10, [])
    ranged("a limit beyond the end finds the rest", limit: 100, offset: 8, [8, 9])
    ranged("a limit of zero finds nothing", limit: 0, offset: 0, [])
    ranged("the greatest limit finds the rest behind an offset", limit: .max, offset: 8, [8, 9])
    ranged("the greatest offset finds nothing", limit: .max, offset: .max, [])
    residual
    pending
    overStores
  }

  private static func fill(_ context: ManagedObjectContext) throws {
    for year in [3, 7, 0, 9, 4, 1, 8, 2, 6, 5] { try context.make("Album", ["title": "\(year)", "year": year]) }
  }

  private static func request(limit: Int?, offset: Int, where predicate: FetchPredicate? = nil)
    -> FetchRequest<ManagedObject>
  {
    var request = FetchRequest<ManagedObject>(entityName: "Album")
    request.predicate = predicate
    request.sortKeys = [SortKey("year")]
    request.fetchLimit = limit
    request.fetchOffset = offset
    return request
  }

  private static func ranged(_ sentence: String, limit: Int?, offset: Int, _ years: [Int]) -> Case {
    Case(sentence) { stack in
      let request = request(limit: limit, offset: offset)
      func check(_ context: ManagedObjectContext, _ place: String) throws {
        try expectEqual(try context.fetch(request).map { try $0.label }, years.map(String.init), "what \(place) has")
        try expectEqual(try context.count(for: request), years.count, "the count in \(place)")
      }
      let context = stack.context()
      try context.performAndWait {
        try fill(context)
        try check(context, "the context")
        try context.save()
        try check(context, "the context after the save")
      }
      try stack.read { try check($0, "the store") }
    }
  }

  @CasesBuilder private static var residual: [Case] {
    Case("a limit counts the records that satisfy the condition") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        let odd = among("year", [1, 3, 5, 7, 9])
        let found = try context.fetch(request(limit: 2, offset: 1, where: odd)).map { try $0.label }
        try expectEqual(found, ["3", "5"])
      }
    }
    Case("a limit counts the records that satisfy a pattern") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        let odd = compare("title", .matches, "[13579]")
        let found = try context.fetch(request(limit: 2, offset: 1, where: odd)).map { try $0.label }
        try expectEqual(found, ["3", "5"])
        try expectEqual(try context.count(for: request(limit: 2, offset: 4, where: odd)), 1)
      }
    }
  }

  @CasesBuilder private static var pending: [Case] {
    Case("a limit counts unsaved records where they belong") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        try context.make("Album", ["title": "new", "year": 1])
        context.delete(try context.one("Album", where: equal("year", 0)))
        try context.one("Album", where: equal("year", 9)).setValue(-1, for: "year")
        let found = try context.fetch(request(limit: 4, offset: 1)).map { try $0.label }
        try expectEqual(found, ["1", "new", "2", "3"])
        try expectEqual(try context.count(for: request(limit: 4, offset: 8)), 2)
      }
    }
    Case("with unsaved changes no more rows are read than the range needs") { stack in
      try stack.write { context in
        for year in 0..<500 { try context.make("Album", ["title": "\(year)", "year": year]) }
      }
      let interposition = try stack.interpose()
      try stack.read { context in
        let edited = try context.one("Album", where: equal("year", 400))
        context.delete(try context.one("Album", where: equal("year", 1)))
        try edited.setValue(2, for: "year")
        try context.make("Album", ["title": "new", "year": 3])
        let before = interposition.rowCount
        let found = try context.fetch(request(limit: 5, offset: 1)).map { try $0.label }
        // The edited record is saved: its key comes after that of the other record of the year.
        try expectEqual(found, ["2", "400", "3", "new", "4"])
        let reader = try stack.store.makeReader()
        defer { reader.finish() }
        let fetch = try reader.fetch(
          StoreQuery(entity: try stack.model.entity(named: "Album"), sortKeys: [SortKey("year")], limit: 5))
        guard fetch.isRangeExact else { return }
        // The wanted rows, and as many more as the store's two deleted records can displace.
        try expect(interposition.rowCount - before <= 8, "8 rows at most, not \(interposition.rowCount - before)")
      }
    }
    Case("pages of a sorted fetch make up the whole") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        var years: [String] = []
        for page in 0..<4 { years += try context.fetch(request(limit: 3, offset: page * 3)).map { try $0.label } }
        try expectEqual(years, (0..<10).map(String.init))
      }
    }
  }

  // MARK: Several stores

  /// A context over two stores with an interposition. The albums of even years are in the first store, and those of odd
  /// years in the second.
  private static func divided(
    _ stack: ConformanceStack
  ) throws -> (context: ManagedObjectContext, interposition: Interposition, reader: any StoreReader) {
    let coordinator = stack.makeCoordinator()
    let interposition = Interposition()
    let stores = try (0..<2).map { _ in
      let location = try stack.makeLocation()
      return try stack.attach(location, to: coordinator, type: try interposition.type(for: location.type))
    }
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for year in 0..<200 {
        try context.assign(try context.make("Album", ["title": "\(year)", "year": year]), to: stores[year % 2])
      }
      try context.save()
      context.reset()
    }
    return (context, interposition, try stores[0].makeReader())
  }

  /// Whether the store of a reader evaluates the range of an ordered fetch. Finishes the reader.
  private static func hasExactRanges(_ reader: any StoreReader, _ stack: ConformanceStack) throws -> Bool {
    defer { reader.finish() }
    let fetch = try reader.fetch(
      StoreQuery(entity: try stack.model.entity(named: "Album"), sortKeys: [SortKey("year")], limit: 5))
    fetch.cursor.close()
    return fetch.isRangeExact
  }

  @CasesBuilder private static var overStores: [Case] {
    Case("of several stores no more rows are read than the range needs") { stack in
      let (context, interposition, reader) = try divided(stack)
      let isExact = try hasExactRanges(reader, stack)
      try context.performAndWait {
        let before = interposition.rowCount
        let found = try context.fetch(request(limit: 5, offset: 1)).map { try $0.label }
        try expectEqual(found, ["1", "2", "3", "4", "5"])
        let read = interposition.rowCount - before
        try expect(!isExact || read <= 2 * 6, "12 rows at most, not \(read)")
        try expectEqual(try context.fetchFirst(request(limit: nil, offset: 0))?.label, "0")
      }
    }
    Case("of several stores unsaved changes read no more rows than the range needs") { stack in
      let (context, interposition, reader) = try divided(stack)
      let isExact = try hasExactRanges(reader, stack)
      try context.performAndWait {
        context.delete(try context.one("Album", where: equal("year", 2)))
        try context.one("Album", where: equal("year", 100)).setValue(3, for: "year")
        try context.make("Album", ["title": "new", "year": 1])
        let before = interposition.rowCount
        let found = try context.fetch(request(limit: 6, offset: 1)).map { try $0.label }
        try expectEqual(Set(found), ["1", "new", "3", "100", "4", "5"])
        try expectEqual(Array(found.prefix(2)), ["1", "new"])
        try expectEqual(Array(found.suffix(2)), ["4", "5"])
        let read = interposition.rowCount - before
        // The range, and as many more rows of each store as the two changed records can displace.
        try expect(!isExact || read <= 2 * 9, "18 rows at most, not \(read)")
      }
    }
    Case("of several stores a count reads no rows") { stack in
      let (context, interposition, reader) = try divided(stack)
      let counts = try reader.count(StoreQuery(entity: try stack.model.entity(named: "Album"))) != nil
      reader.finish()
      try context.performAndWait {
        let early = compare("year", .less, 150)
        let before = interposition.rowCount
        try expectEqual(try context.count(for: request(limit: nil, offset: 0, where: early)), 150)
        try expectEqual(try context.count(for: request(limit: 10, offset: 145, where: early)), 5)
        try expect(!counts || interposition.rowCount == before, "no rows, not \(interposition.rowCount - before)")
        context.delete(try context.one("Album", where: equal("year", 3)))
        try context.make("Album", ["title": "new", "year": 7])
        try context.make("Album", ["title": "newer", "year": 8])
        let changed = interposition.rowCount
        try expectEqual(try context.count(for: request(limit: nil, offset: 0, where: early)), 151)
        try expect(!counts || interposition.rowCount == changed, "no rows, not \(interposition.rowCount - changed)")
      }
    }
  }
}
