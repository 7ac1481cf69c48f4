import Foundation

extension FetchPredicate: CustomStringConvertible {
  /// The predicate as format text.
  ///
  /// ``init(format:_:)`` reads it back to an equal predicate, but for what format text cannot say: identifiers of
  /// objects, and conjunctions and disjunctions of fewer than two parts. It contains the predicate's constants, so it
  /// does not belong in a log.
  public var description: String {
    switch self {
    case .constant(let value):
      value ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .comparison(let left, let comparison, let right, let options):
      "\(left) \(comparison.keyword)\(options.suffix) \(right)"
    case .membership(let expression, let values, let options):
      "\(expression) IN\(options.suffix) {\(values.map(\.formatText).joined(separator: ", "))}"
    case .between(let expression, let lower, let upper):
      "\(expression) BETWEEN {\(lower), \(upper)}"
    case .and(let predicates):
      predicates.isEmpty ? "TRUEPREDICATE" : predicates.map(\.enclosed).joined(separator: " AND ")
    case .or(let predicates):
      predicates.isEmpty ? "FALSEPREDICATE" : predicates.map(\.enclosed).joined(separator: " OR ")
    case .not(let predicate):
      "NOT (\(predicate))"
    case .quantified(let quantifier, let path, let predicate):
      "\(quantifier.rawValue.uppercased()) \(path.formatText) (\(predicate))"
    }
  }

  /// The text as a part of a conjunction or disjunction.
  private var enclosed: String {
    switch self {
    case .and, .or: "(\(self))"
    default: description
    }
  }
}

extension FetchExpression: CustomStringConvertible {
  /// The expression as format text.
  public var description: String {
    switch self {
    case .value(let value): value.formatText
    case .path(let path): path.formatText
    case .count(let path): path.formatText + ".@count"
    }
  }
}

extension StringOptions {
  fileprivate var suffix: String {
    let letters = (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "")
    return letters.isEmpty ? "" : "[\(letters)]"
  }
}

extension PropertyPath {
  fileprivate var formatText: String {
    names.isEmpty ? "SELF" : names.map(Self.formatText).joined(separator: ".")
  }

  private static func formatText(_ name: String) -> String {
    let isPlain =
      name.unicodeScalars.first?.beginsName == true && name.unicodeScalars.allSatisfy(\.continuesName)
      && PredicateFormatKeyword(word: name) == nil
    return isPlain ? name : name.quoted("`")
  }
}

extension String {
  fileprivate func quoted(_ quote: Unicode.Scalar) -> String {
    var text = String.UnicodeScalarView([quote])
    for scalar in unicodeScalars {
      switch scalar {
      case "\\", quote: text.append(contentsOf: ["\\", scalar])
      case "\n": text.append(contentsOf: ["\\", "n"])
      case "\r": text.append(contentsOf: ["\\", "r"])
      default: text.append(scalar)
      }
    }
    text.append(quote)
    return String(text)
  }
}

extension AttributeValue {
  fileprivate var formatText: String {
    switch self {
    case .null: "NULL"
    case .bool(let value): value ? "TRUE" : "FALSE"
    case .int(let value): "\(value)"
    case .double(let value): value.isFinite ? "\(value)" : "CAST(\"\(value)\", \"Double\")"
    case .string(let value): value.quoted("\"")
    case .data(let value): "CAST(\"\(value.base64EncodedString())\", \"Data\")"
    case .date(let value): "CAST(\(value.microseconds), \"Date\")"
    case .uuid(let value): "CAST(\"\(value.uuidString)\", \"UUID\")"
    case .decimal(let value): "CAST(\"\(value)\", \"Decimal\")"
    case .reference(let id): "OBJECT(\"\(id)\")"
    }
  }
}
