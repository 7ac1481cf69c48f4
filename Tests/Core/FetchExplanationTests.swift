import Testing

@testable import CoherenceCore

/// The texts of explanations of fetches.
@Suite("Texts of explanations")
struct FetchExplanationTests {
  private func text(_ query: QueryExplanation, isExplained: Bool = true, streams: Bool = true) -> [String] {
    let store = FetchExplanation.Store(typeName: "Some", isExplainedByStore: isExplained, query: query)
    let explanation = FetchExplanation(
      entityName: "Track", predicate: .store, order: .context, range: .nowhere, orderText: ["title DESC", "key"],
      unsavedChanges: .merged, streamsInBatches: streams, stores: [store])
    return explanation.description.split(separator: "\n").map { String($0) }
  }

  @Test func `an explanation has a line for the fetch, for its parts, for unsaved changes and for each store`() {
    let query = QueryExplanation(isPredicateExact: true, isOrderExact: false, isRangeExact: false)
    #expect(
      text(query) == [
        "Fetch of 'Track'", "predicate: store; order: context (title DESC, key); range: nowhere",
        "unsaved changes: merged; streams: in batches", "  store of type 'Some'",
      ])
    let lines = text(query, isExplained: false, streams: false)
    #expect(lines[2] == "unsaved changes: merged; streams: after reading all records")
    #expect(lines[3] == "  store of type 'Some', which does not explain its plan")
  }

  @Test func `a store's statement, residual parts and steps follow, the inner steps further in`() throws {
    let condition = try FetchPredicate(format: "title MATCHES 'secret'")
    let query = QueryExplanation(
      isPredicateExact: false, isOrderExact: false, isRangeExact: false, statement: "SELECT ?", valueCount: 2,
      residuals: [ResidualPart(condition, .pattern), ResidualPart(SortKey("title"), .textOptions)],
      steps: [
        QueryStep(
          "Sort", estimatedRecords: 1.6, estimatedCost: 2.5,
          steps: [QueryStep("Scan", table: "Track", index: "byTitle"), QueryStep("Loop", estimatedRecords: 0.4)])
      ])
    #expect(
      Array(text(query).dropFirst(4)) == [
        "    statement, with 2 values: SELECT ?",
        "    condition left to the context: title MATCHES ? (the store has no pattern of that meaning)",
        "    order left to the context: title (the store cannot ignore the differences of texts)",
        "    Sort, 2 records expected, cost 2.5", "      Scan of Track by index byTitle",
        "      Loop, 0 records expected",
      ])
  }

  @Test func `an estimate beyond the range of numbers is the greatest number, and none is zero`() {
    func line(_ records: Double) -> String? {
      text(
        QueryExplanation(
          isPredicateExact: true, isOrderExact: true, isRangeExact: true,
          steps: [QueryStep("Scan", estimatedRecords: records)])
      ).last
    }
    #expect(line(.infinity) == "    Scan, \(Int.max) records expected" && line(1e30) == line(.infinity))
    #expect(line(.nan) == "    Scan, 0 records expected" && line(-1e30) == line(.nan))
  }

  @Test func `each reason of a residual part has a sentence of its own`() throws {
    let sentences = ResidualPart.Reason.allCases.map { reason in
      text(
        QueryExplanation(
          isPredicateExact: false, isOrderExact: true, isRangeExact: true,
          residuals: [ResidualPart(FetchPredicate.constant(true), reason)])
      ).last
    }
    #expect(Set(sentences).count == ResidualPart.Reason.allCases.count)
  }
}
