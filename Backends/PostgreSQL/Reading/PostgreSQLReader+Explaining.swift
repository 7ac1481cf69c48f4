import CoherenceCore
import CoherenceSQL
import Foundation

extension PostgreSQLReader: QueryExplaining {
  func explain(_ query: StoreQuery) throws -> QueryExplanation {
    let plan = try store.planner.select(query)
    let result = try self.result(of: "EXPLAIN (FORMAT JSON) \(plan.statement)")
    let text = (0..<result.rowCount).compactMap { result.text($0, 0) }.joined(separator: "\n")
    guard let plans = try? JSONDecoder().decode([ServerPlan].self, from: Data(text.utf8)) else {
      throw CoherenceError(
        .unsupported, "The PostgreSQL server explained a statement in another form than JSON; its plan cannot be shown."
      )
    }
    return try store.planner.explanation(
      query, plan, plan.statement.rendered(by: PostgreSQLDialect()), steps: plans.map(\.plan.step))
  }
}

/// The server's plan of a statement, as its JSON format has it.
private struct ServerPlan: Decodable {
  let plan: ServerPlanNode

  enum CodingKeys: String, CodingKey { case plan = "Plan" }
}

/// A node of the server's plan. Its conditions are not read, because the server writes the values into them.
private struct ServerPlanNode: Decodable {
  let type: String
  let joinType: String?
  let relation: String?
  let index: String?
  let rows: Double?
  let cost: Double?
  let nodes: [ServerPlanNode]?

  enum CodingKeys: String, CodingKey {
    case type = "Node Type"
    case joinType = "Join Type"
    case relation = "Relation Name"
    case index = "Index Name"
    case rows = "Plan Rows"
    case cost = "Total Cost"
    case nodes = "Plans"
  }

  var step: QueryStep {
    QueryStep(
      joinType.map { "\(type), \($0)" } ?? type, table: relation, index: index, estimatedRecords: rows,
      estimatedCost: cost, steps: (nodes ?? []).map(\.step))
  }
}
