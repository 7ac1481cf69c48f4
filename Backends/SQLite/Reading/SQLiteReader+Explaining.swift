import CoherenceCore
import CoherenceSQL
import Foundation

extension SQLiteReader: QueryExplaining {
  func explain(_ query: StoreQuery) throws -> QueryExplanation {
    let plan = try store.planner.select(query)
    let statement = plan.statement.rendered(by: SQLiteDialect())
    let explaining = SQLStatement(text: "EXPLAIN QUERY PLAN \(statement.text)", bindings: statement.bindings)
    let lines = try read { session in
      try session.with(explaining) { explaining in
        var lines: [SQLitePlanLine] = []
        while try explaining.step() { lines.append(SQLitePlanLine(explaining)) }
        return lines
      }
    }
    return try store.planner.explanation(query, plan, statement, steps: lines.steps(below: 0))
  }
}

/// A line of SQLite's plan. SQLite writes its plans with question marks in place of values.
struct SQLitePlanLine {
  let number: Int64
  let parent: Int64
  let detail: String

  /// The ending of the line of a table whose rows may be missing.
  private static let outerJoin = " LEFT-JOIN"

  /// The step of a line such as `SEARCH t USING COVERING INDEX Album_year (year>?)`.
  func step(_ steps: [QueryStep]) -> QueryStep {
    guard let verb = ["SEARCH", "SCAN"].first(where: { detail.hasPrefix("\($0) ") }) else {
      return QueryStep(detail, steps: steps)
    }
    var words = detail.dropFirst(verb.count + 1)
    if words.hasSuffix(Self.outerJoin) { words = words.dropLast(Self.outerJoin.count) }
    guard let using = words.range(of: " USING ") else {
      return QueryStep(verb, table: String(words), steps: steps)
    }
    let table = String(words[..<using.lowerBound])
    let means = words[using.upperBound...]
    if means.hasPrefix("AUTOMATIC ") {
      // SQLite builds the index from the rows of the table, for this statement alone.
      let kind = means.range(of: " (").map { means[..<$0.lowerBound] } ?? means
      return QueryStep(String(kind), table: table, steps: [QueryStep("SCAN", table: table)] + steps)
    }
    let name = means.range(of: "INDEX ").map { means[$0.upperBound...] } ?? means
    let end = name.range(of: " (", options: .backwards)?.lowerBound ?? name.endIndex
    return QueryStep(verb, table: table, index: String(name[..<end]), steps: steps)
  }
}

extension SQLitePlanLine {
  fileprivate init(_ statement: SQLiteStatement) {
    self.init(number: statement.integer(0), parent: statement.integer(1), detail: statement.string(3))
  }
}

extension [SQLitePlanLine] {
  /// Returns the steps below a line of the plan.
  fileprivate func steps(below parent: Int64) -> [QueryStep] {
    filter { $0.parent == parent }.map { $0.step(steps(below: $0.number)) }
  }
}
