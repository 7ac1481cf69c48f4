import CoherenceCore
import Foundation

/// The texts of values, steps and models in outcomes and reports: exact, and the same for every store.
enum DifferentialText {
  /// - Parameter name: Returns the name of an identifier.
  static func text(_ value: AttributeValue, name: (ManagedObjectID) -> String = { "\($0)" }) -> String {
    switch value {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .int(let value): "\(value)"
    case .double(let value): "\(value)"
    case .string(let value): literal(value)
    case .data(let value): "data(" + hex(value.prefix(24)) + (value.count > 24 ? "… \(value.count) bytes)" : ")")
    case .date(let value): "date(\(value.microseconds))"
    case .uuid(let value): "uuid(\(value.uuidString))"
    case .decimal(let value): "decimal(\(value))"
    case .reference(let id): name(id)
    }
  }

  /// A text with everything but plain characters spelled out, and its repetition left out.
  private static func literal(_ text: String) -> String {
    let scalars = text.unicodeScalars.prefix(40).map { scalar in
      scalar.isASCII && scalar.value >= 0x20 ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
    }
    return "'" + scalars.joined() + (text.unicodeScalars.count > 40 ? "…' (\(text.utf8.count) bytes)" : "'")
  }

  private static func hex(_ data: Data) -> String {
    data.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  // MARK: Predicates

  static func text(_ predicate: FetchPredicate) -> String {
    switch predicate {
    case .constant(let value): "\(value)"
    case .comparison(let left, let comparison, let right, let options):
      "\(text(left)) \(comparison.rawValue)\(text(options)) \(text(right))"
    case .membership(let expression, let values, let options):
      "\(text(expression)) in\(text(options)) [\(values.map { text($0) }.joined(separator: ", "))]"
    case .between(let expression, let lower, let upper): "\(text(expression)) in \(text(lower))...\(text(upper))"
    case .list(let expression, let relation, let name, let options):
      "\(text(expression)) \(relation.rawValue)\(text(options)) $\(name)"
    case .and(let predicates): "(" + predicates.map(text).joined(separator: " && ") + ")"
    case .or(let predicates): "(" + predicates.map(text).joined(separator: " || ") + ")"
    case .not(let predicate): "!(\(text(predicate)))"
    case .quantified(let quantifier, let path, let predicate): "\(quantifier.rawValue) \(path) { \(text(predicate)) }"
    }
  }

  private static func text(_ expression: FetchExpression) -> String {
    switch expression {
    case .value(let value): text(value)
    case .path(let path): text(path)
    case .count(let path): "\(text(path)).@count"
    case .subquery(let path, let condition): "\(text(path)) { \(text(condition)) }.@count"
    case .arithmetic(let operation, let left, let right): "(\(text(left)) \(operation) \(text(right)))"
    case .variable(let name): "$\(name)"
    }
  }

  private static func text(_ path: PropertyPath) -> String {
    String(repeating: "^", count: path.outerLevel) + (path.names.isEmpty ? "self" : path.description)
  }

  private static func text(_ options: StringOptions) -> String {
    let letters =
      (options.contains(.caseInsensitive) ? "c" : "") + (options.contains(.diacriticInsensitive) ? "d" : "")
    return letters.isEmpty ? "" : "[\(letters)]"
  }

  private static func text(_ missingValues: MissingValuePlacement) -> String {
    switch missingValues {
    case .smallest: ""
    case .first: " missing first"
    case .last: " missing last"
    }
  }

  static func text(_ request: FetchRequest<ManagedObject>) -> String {
    var parts = [request.entityName ?? ""]
    if let predicate = request.predicate { parts.append("where " + text(predicate)) }
    for key in request.sortKeys {
      parts.append("sort \(key.path)\(text(key.options)) \(key.isAscending ? "up" : "down")\(text(key.missingValues))")
    }
    if let limit = request.fetchLimit { parts.append("limit \(limit)") }
    if request.fetchOffset > 0 { parts.append("offset \(request.fetchOffset)") }
    if !request.includesSubentities { parts.append("without subentities") }
    if !request.includesPendingChanges { parts.append("without pending changes") }
    if request.returnsObjectsAsFaults { parts.append("as faults") }
    for name in request.relationshipsForPrefetching { parts.append("prefetching \(name)") }
    return parts.joined(separator: " ")
  }
}
