import CoherenceCore
import Foundation

extension ConformanceSubject {
  /// Random groups have the same rows unsaved, in the store, and with unsaved changes over the store, as groups of plain
  /// values.
  static let randomGroups = ConformanceSubject("Random groups") {
    (1...8).map(groups)
    (9...10).map(groupsFromRecords)
  }

  private static func groups(seed: Int) -> Case {
    Case("random groups of seed \(seed) have the rows that plain values have", model: Harbours.model) { stack in
      try RandomGroupTest(seed: seed).run(on: stack)
    }
  }

  private static func groupsFromRecords(seed: Int) -> Case {
    Case(
      "random groups of seed \(seed), computed from records, have the rows that plain values have",
      model: Harbours.model
    ) { stack in
      // The store in between has no aggregates.
      _ = try stack.interpose()
      try RandomGroupTest(seed: seed).run(on: stack)
    }
  }
}

/// The records, the changes and the requests of a seed.
private struct RandomGroupTest {
  /// The number of random requests of a seed: `COHERENCE_GROUPS`, or 150. A larger number continues the requests of a
  /// smaller one.
  private static let requestCount = ProcessInfo.processInfo.environment["COHERENCE_GROUPS"].flatMap(Int.init) ?? 150

  private let seed: Int
  private let inserts: [PlainRecords.Change]
  private let changes: [PlainRecords.Change]
  /// The records before the changes.
  private let saved: PlainRecords
  /// The records after the changes.
  private let changed: PlainRecords
  private let requests: [AggregateRequest<ManagedObject>]

  init(seed: Int) {
    self.seed = seed
    var records = RandomRecords(SplitMix64(seed: UInt64(seed)))
    // The first seed begins with an empty table.
    inserts = records.inserts(hasCargoes: seed > 1)
    saved = records.records
    changes = records.moreChanges()
    changed = records.records
    var groups = RandomGroups(SplitMix64(seed: UInt64(seed) + 1_000))
    requests = (0..<Self.requestCount).map { _ in groups.request() }
  }

  func run(on stack: ConformanceStack) throws {
    let context = stack.context()
    try context.performAndWait {
      var objects: [ManagedObject] = []
      try context.apply(inserts, to: &objects)
      try expectRows(in: context, objects, stored: PlainRecords(), present: saved, "unsaved")
      try context.save()
    }
    try stack.read { context in
      var objects = try context.numberedObjects()
      try expectRows(in: context, objects, stored: saved, present: saved, "saved")
      try context.apply(changes, to: &objects)
      try expectRows(in: context, objects, stored: saved, present: changed, "saved, with unsaved changes")
    }
  }

  /// Compares the rows of all requests.
  ///
  /// - Parameters:
  ///   - objects: The objects of the records by their numbers.
  ///   - stored: The records of the store.
  ///   - present: The records with the unsaved changes of the context.
  private func expectRows(
    in context: ManagedObjectContext, _ objects: [ManagedObject], stored: PlainRecords, present: PlainRecords,
    _ state: String
  ) throws {
    var numbers: [ManagedObjectID: Int64] = [:]
    for (number, object) in objects.enumerated() { numbers[object.objectID] = Int64(number) }
    for (index, request) in requests.enumerated() {
      let what = "request \(index) of seed \(seed), \(state): \(Self.text(request))"
      let records = request.records.includesPendingChanges ? present : stored
      let outcome = PlainGroups(request, over: records).outcome
      let rows = try Self.rows(of: request, in: context, numbers, what)
      switch (outcome, rows) {
      case (.overflow, nil): continue
      case (.rows(let expected), let rows?) where Self.areEqual(rows, expected, request): continue
      case (.overflow, let rows?):
        throw ConformanceFailure("expected an overflow, found \(Self.text(rows)) for \(what)")
      case (.rows(let expected), nil):
        throw ConformanceFailure("expected \(expected), found an overflow for \(what)")
      case (.rows(let expected), let rows?):
        throw ConformanceFailure("expected \(expected), found \(Self.text(rows)) for \(what)")
      }
    }
  }

  /// The rows of a request, with the numbers of objects in place of their identifiers; `nil` for an overflow.
  private static func rows(
    of request: AggregateRequest<ManagedObject>, in context: ManagedObjectContext, _ numbers: [ManagedObjectID: Int64],
    _ what: String
  ) throws -> [[AttributeValue]]? {
    do {
      return try context.fetchDictionaries(request).map { row in
        try request.propertiesToFetch.map { column in
          let value = try unwrap(row[column.name], "the column '\(column.name)'")
          guard case .reference(let id) = value else { return value }
          return .int(try unwrap(numbers[id], "an object of the context"))
        }
      }
    } catch let error as CoherenceError where error.code == .arithmeticOverflow {
      return nil
    } catch {
      throw ConformanceFailure("\(what) threw \(error)")
    }
  }

  /// Whether rows are the expected ones, in their order. Groups of objects come in any order.
  private static func areEqual(
    _ rows: [[AttributeValue]], _ expected: [[PlainResult]], _ request: AggregateRequest<ManagedObject>
  ) -> Bool {
    guard rows.count == expected.count else { return false }
    let hasReference = request.propertiesToGroupBy.contains { path in
      PropertyPath(path).names.last.map { PlainRecords.destinations[$0] != nil } ?? false
    }
    guard hasReference else { return zip(rows, expected).allSatisfy { accepts($0, $1) } }
    var rest = rows
    return expected.allSatisfy { results in
      guard let index = rest.firstIndex(where: { accepts($0, results) }) else { return false }
      rest.remove(at: index)
      return true
    }
  }

  private static func accepts(_ row: [AttributeValue], _ results: [PlainResult]) -> Bool {
    zip(row, results).allSatisfy { $1.accepts($0) }
  }

  // MARK: Messages

  private static func text(_ rows: [[AttributeValue]]) -> String {
    rows.map { row in row.map { DifferentialText.text($0) }.joined(separator: " | ") }.description
  }

  private static func text(_ request: AggregateRequest<ManagedObject>) -> String {
    let columns = request.propertiesToFetch.map { "\($0.expression) as \($0.name)" }
    let order = request.sortKeys.map { "\($0.path) \($0.isAscending ? "up" : "down")" }
    var parts = [
      DifferentialText.text(request.records), "by \(request.propertiesToGroupBy)", "fetching \(columns)",
      "sorted by \(order)",
    ]
    if let having = request.havingPredicate { parts.append("having \(DifferentialText.text(having))") }
    if let limit = request.fetchLimit { parts.append("up to \(limit) rows") }
    if request.fetchOffset > 0 { parts.append("from row \(request.fetchOffset)") }
    return parts.joined(separator: ", ")
  }
}
