import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let explanations = ConformanceSubject("Explanations") {
    stores
    unsavedChanges
  }

  /// Conditions that stores evaluate, and conditions that some leave to the context.
  private static let conditions: [FetchPredicate?] = [
    nil, compare("length", .less, 1_500), compare("title", .matches, "Tr.ck [135]"),
    compare("length", .greater, 3) && compare("title", .beginsWith, "TRACK", .caseInsensitive),
    equal("album.artist.name", "Miles"), memberCount("album.tracks", .greater, 2),
  ]

  private static func request(_ condition: FetchPredicate?) -> FetchRequest<Track> {
    var request = streamed(condition)
    request.fetchLimit = 10
    return request
  }

  /// Fails unless an explanation has the parts that the store's own fetch applies.
  private static func expectTruth(
    _ explanation: FetchExplanation, of request: FetchRequest<Track>, _ stack: ConformanceStack
  ) throws {
    let query = try unwrap(explanation.stores.first, "an explanation of the store").query
    let reader = try stack.store.makeReader()
    defer { reader.finish() }
    let entity = try stack.model.entity(named: "Track")
    let fetch = try reader.fetch(
      StoreQuery(
        entity: entity, predicate: try request.predicate.map { try PreparedPredicate($0, for: entity).predicate },
        sortKeys: request.sortKeys, limit: request.fetchLimit, offset: request.fetchOffset))
    fetch.cursor.close()
    try expectEqual(query.isPredicateExact, fetch.isPredicateExact, "the exactness of the predicate")
    try expectEqual(query.isOrderExact, fetch.isOrderExact, "the exactness of the order")
    try expectEqual(query.isRangeExact, fetch.isRangeExact, "the exactness of the range")
    let place: FetchExplanation.Place = fetch.isPredicateExact ? .store : .context
    try expectEqual(explanation.predicate, request.predicate == nil ? .nowhere : place, "the place of the predicate")
    try expectEqual(explanation.order, fetch.isOrderExact ? .store : .context, "the place of the order")
    try expectEqual(explanation.range, fetch.isRangeExact ? .store : .context, "the place of the range")
    try expectEqual(explanation.streamsInBatches, fetch.isOrderExact, "whether a stream reads in batches")
    guard explanation.stores[0].isExplainedByStore else { return }
    try expectEqual(query.residuals.isEmpty, fetch.isPredicateExact && fetch.isOrderExact, "the residual parts")
    try expect(!query.steps.isEmpty, "a plan")
  }

  @CasesBuilder private static var stores: [Case] {
    Case("an explanation tells the parts of a request that the store applies itself") { stack in
      for condition in conditions {
        let explanation = try stack.read { try $0.explain(request(condition)) }
        try expectEqual(explanation.entityName, "Track", "the entity")
        try expectEqual(explanation.unsavedChanges, .none, "the unsaved changes")
        try expectTruth(explanation, of: request(condition), stack)
      }
    }
    Case("a store that does not explain its plan is explained by the fetch that it begins") { stack in
      try fillStreamed(stack, count: 30)
      let interposition = try stack.interpose()
      for condition in conditions {
        let explanation = try stack.read { try $0.explain(request(condition)) }
        try expect(!explanation.stores[0].isExplainedByStore, "an explanation by Core")
        try expectTruth(explanation, of: request(condition), stack)
      }
      try expectEqual(interposition.rowCount, 0, "the number of rows taken")
      try expectEqual(interposition.openCursorCount, 0, "the number of open cursors")
    }
    Case("an explanation contains no value of its request") { stack in
      let date = Date(timeIntervalSince1970: 1_234_567_891)
      let texts: [FetchPredicate] = [
        equal("title", "Zanzibar"), compare("title", .matches, "Zanzibar.*"), compare("title", .endsWith, "Zanzibar"),
        compare("title", .contains, "zanzibar", .caseInsensitive), among("title", ["Zanzibar", "Zanzibar 2"]),
        equal("length", 47_114_711), between("length", 47_114_710, 47_114_711),
        equal("album.artist.name", "Zanzibar"), members(.any, "album.tracks", equal("title", "Zanzibar")),
      ]
      try stack.read { context in
        for condition in texts {
          let text = try context.explain(streamed(.not(condition))).description
          try expect(!text.lowercased().contains("zanzibar") && !text.contains("4711471"), "no value in: \(text)")
        }
        var artists = FetchRequest<ManagedObject>(entityName: "Artist")
        artists.predicate = compare("born", .less, date)
        let text = try context.explain(artists).description
        try expect(!text.contains("12345678") && !text.contains("2009"), "no date in: \(text)")
      }
    }
    Case("an explanation of an entity in several stores has one for each") { stack in
      let coordinator = stack.makeCoordinator()
      for companion in [false, true] {
        try stack.attach(try stack.makeLocation(companion: companion), to: coordinator)
      }
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      let explanation = try context.performAndWait { try context.explain(streamed()) }
      try expectEqual(explanation.stores.count, 2, "the number of stores")
      try expectEqual(explanation.order, .context, "the place of the order")
      try expect(!explanation.streamsInBatches, "a stream that reads all records at its beginning")
    }
    Case("an explanation of a request that a fetch refuses throws as the fetch does") { stack in
      try stack.read { context in
        try expectThrows(.unknownProperty) { try context.explain(streamed(equal("colour", 1))) }
        try expectThrows(.unknownEntity) { try context.explain(FetchRequest<ManagedObject>(entityName: "Nothing")) }
        var negative = streamed()
        negative.fetchOffset = -1
        try expectThrows(.invalidFetchRequest) { try context.explain(negative) }
      }
    }
  }

  @CasesBuilder private static var unsavedChanges: [Case] {
    Case("an explanation tells how unsaved changes take part") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        try context.make("Track", ["title": "New", "length": 5])
        let merged = try context.explain(request(nil))
        try expectEqual(merged.unsavedChanges, .merged, "the unsaved changes of the entity")
        try expectEqual(merged.range, .context, "the place of the range")
        var saved = request(nil)
        saved.includesPendingChanges = false
        try expectEqual(try context.explain(saved).unsavedChanges, .none, "the unsaved changes left out")
        try context.save()
        try context.one("Album", where: equal("title", "Debut")).setValue("Renamed", for: "title")
        let renamed = try context.explain(request(equal("album.title", "Renamed")))
        try expectEqual(renamed.unsavedChanges, .merged, "the unsaved changes of a few related records")
        try context.one("Track", where: equal("title", "New")).setValue("Newer", for: "title")
        let decisive = try context.explain(request(try FetchPredicate(format: "ANY album.tracks.title == 'Newer'")))
        try expectEqual(decisive.unsavedChanges, .decisive, "the unsaved changes of related records far away")
        try expectEqual(decisive.predicate, .context, "the place of the predicate")
        try expect(!decisive.streamsInBatches, "a stream that reads all records at its beginning")
      }
    }
  }
}
