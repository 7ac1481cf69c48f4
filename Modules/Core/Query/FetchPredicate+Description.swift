import Foundation

extension FetchPredicate: CustomStringConvertible {
  /// The predicate as format text.
  ///
  /// ``init(format:_:)`` parses it to an equal predicate, except for predicates that format text cannot express:
  /// identifiers of objects, and conjunctions and disjunctions of fewer than two parts. The text contains the
  /// predicate's constants, so do not log it.
  public var description: String { text(showsValues: true) }

  /// The predicate as format text with a question mark in place of each constant, for logs.
  public var textWithoutValues: String { text(showsValues: false) }

  private func text(showsValues: Bool) -> String {
    var text = ""
    // An explicit list in place of recursion, because predicates may be nested deeply.
    var rest = [DescriptionPart.predicate(self)]
    while let part = rest.popLast() {
      switch part {
      case .text(let words): text += words
      case .predicate(let predicate): rest += predicate.parts(showsValues).reversed()
      }
    }
    return text
  }

  private enum DescriptionPart {
    case text(String)
    case predicate(FetchPredicate)
  }

  private func parts(_ showsValues: Bool) -> [DescriptionPart] {
    func text(_ expression: FetchExpression) -> String { expression.formatText(showsValues) }
    return switch self {
    case .constant(let value):
      [.text(value ? "TRUEPREDICATE" : "FALSEPREDICATE")]
    case .comparison(let left, let comparison, let right, let options):
      [.text("\(text(left)) \(comparison.keyword)\(options.suffix) \(text(right))")]
    case .membership(let expression, let values, let options):
      [
        .text(
          "\(text(expression)) IN\(options.suffix) {\(values.map { $0.formatText(showsValues) }.joined(separator: ", "))}"
        )
      ]
    case .between(let expression, let lower, let upper):
      [.text("\(text(expression)) BETWEEN {\(text(lower)), \(text(upper))}")]
    case .and(let predicates):
      predicates.isEmpty ? [.text("TRUEPREDICATE")] : Self.joined(predicates, by: " AND ")
    case .or(let predicates):
      predicates.isEmpty ? [.text("FALSEPREDICATE")] : Self.joined(predicates, by: " OR ")
    case .not(let predicate):
      [.text("NOT ("), .predicate(predicate), .text(")")]
    case .quantified(let quantifier, let path, let predicate):
      [.text("\(quantifier.rawValue.uppercased()) \(path.formatText) ("), .predicate(predicate), .text(")")]
    }
  }

  private static func joined(_ predicates: [FetchPredicate], by separator: String) -> [DescriptionPart] {
    var parts: [DescriptionPart] = []
    for predicate in predicates {
      if !parts.isEmpty { parts.append(.text(separator)) }
      switch predicate {
      case .and, .or: parts += [.text("("), .predicate(predicate), .text(")")]
      default: parts.append(.predicate(predicate))
      }
    }
    return parts
  }
}

extension FetchExpression: CustomStringConvertible {
  /// The expression as format text, with its constants.
  public var description: String { formatText(true) }

  fileprivate func formatText(_ showsValues: Bool) -> String {
    switch self {
    case .value(let value): value.formatText(showsValues)
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
    return isPlain || AggregateFunction(pathOperator: name) != nil ? name : name.quoted("`")
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

extension SortKey: CustomStringConvertible {
  /// The criterion as text: the path, the ignored differences, and `DESC` for the descending order.
  public var description: String { path.formatText + options.suffix + (isAscending ? "" : " DESC") }
}

extension AttributeValue {
  fileprivate func formatText(_ isShown: Bool) -> String { isShown ? formatText : "?" }

  private var formatText: String {
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
