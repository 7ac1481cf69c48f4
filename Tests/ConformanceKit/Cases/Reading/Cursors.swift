import CoherenceCore

extension ConformanceSubject {
  /// A cursor keeps a statement, or a state of the store, until its end.
  static let cursors = ConformanceSubject("Cursors") {
    ends
    failures
  }

  private static func fill(_ stack: ConformanceStack, count: Int = 600) throws -> Interposition {
    try stack.write { context in
      for index in 0..<count { try context.make("Track", ["title": "Track \(index)", "length": index]) }
    }
    return try stack.interpose()
  }

  private static func expectNoCursor(_ interposition: Interposition) throws {
    try expect(interposition.fetchCount > 0, "a fetch")
    try expectEqual(interposition.openCursorCount, 0, "the number of open cursors")
  }

  /// A fetch of the first two tracks. No store is asked to know patterns, so Core may stop the cursor early.
  private static func firstTwo(_ predicate: FetchPredicate?) -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: "Track")
    request.predicate = predicate
    request.fetchLimit = 2
    return request
  }

  @CasesBuilder private static var ends: [Case] {
    Case("a fetch of a few records closes its cursor") { stack in
      let interposition = try fill(stack)
      try stack.read { context in
        for predicate in [nil, compare("title", .matches, "Tr.ck [0-9]+"), compare("length", .less, 500)] {
          try expectEqual(try context.fetch(firstTwo(predicate)).count, 2)
          try expectNoCursor(interposition)
        }
      }
    }
    Case("a fetch of a few records among unsaved ones closes its cursor") { stack in
      let interposition = try fill(stack)
      try stack.read { context in
        try context.make("Track", ["title": "Track", "length": -1])
        try context.one("Track", where: equal("length", 0)).setValue(5, for: "length")
        for predicate in [nil, compare("title", .matches, "Tr.ck [0-9]+"), compare("length", .less, 500)] {
          var request = firstTwo(predicate)
          request.sortKeys = [SortKey("length")]
          try expectEqual(try context.fetch(request).count, 2)
          try expectNoCursor(interposition)
        }
      }
    }
    Case("a count and batch requests close their cursors") { stack in
      let interposition = try fill(stack)
      let pattern = compare("title", .matches, "Tr.ck [0-9]")
      try stack.read { context in
        try expectEqual(try context.count(for: firstTwo(pattern)), 2)
        try expectNoCursor(interposition)
        let update = BatchUpdateRequest(entityName: "Track", predicate: pattern, values: ["length": 7])
        try expectEqual(try context.execute(update).count, 10)
        try expectNoCursor(interposition)
        let delete = BatchDeleteRequest(entityName: "Track", predicate: pattern)
        try expectEqual(try context.execute(delete).count, 10)
        try expectNoCursor(interposition)
      }
    }
  }

  @CasesBuilder private static var failures: [Case] {
    Case("a fetch that fails between two batches closes its cursor") { stack in
      let interposition = try fill(stack)
      try stack.read { context in
        interposition.afterBatch { throw CoherenceError(.inputOutput, "The disk failed.") }
        try expectThrows(.inputOutput) { try context.all("Track") }
        try expectThrows(.inputOutput) { try context.all("Track", where: compare("title", .matches, "Tr.*")) }
        interposition.afterBatch(nil)
        try expectNoCursor(interposition)
        try expectEqual(try context.all("Track").count, 600)
      }
    }
    Case("a fetch that fails among unsaved records closes its cursor") { stack in
      let interposition = try fill(stack)
      try stack.read { context in
        try context.make("Track", ["title": "Track", "length": -1])
        interposition.afterBatch { throw CoherenceError(.inputOutput, "The disk failed.") }
        try expectThrows(.inputOutput) { try context.all("Track", sort: [SortKey("length")]) }
        interposition.afterBatch(nil)
        try expectNoCursor(interposition)
        try expectEqual(try context.all("Track", sort: [SortKey("length")]).count, 601)
      }
    }
  }
}
