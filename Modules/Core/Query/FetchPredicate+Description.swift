import Foundation

extension FetchPredicate: CustomStringConvertible {
  /// The predicate as format text.
  ///
  /// ``init(format:_:)`` parses the text to an equal predicate, except for predicates that format text cannot express:
  /// identifiers of objects, and conjunctions and disjunctions of fewer than two parts. The text contains the
  /// predicate's constants, so do not log it.
  public var description: String { text(showsValues: true, of: nil) }

  /// The predicate as format text with a question mark in place of each constant, for logs. Contains the names of
  /// properties and variables.
  public var textWithoutValues: String { text(showsValues: false, of: nil) }

  /// Returns the predicate as format text.
  ///
  /// - Parameters:
  ///   - showsValues: Whether the text has the constants instead of question marks.
  ///   - subject: The variable that stands for the record, in the condition of a `SUBQUERY`; `nil` elsewhere.
  fileprivate func text(showsValues: Bool, of subject: String?) -> String {
    var text = ""
    // An explicit list in place of recursion, because predicates may be nested deeply.
    var rest = [DescriptionPart.predicate(self)]
    while let part = rest.popLast() {
      switch part {
      case .text(let words): text += words
      case .predicate(let predicate): rest += predicate.parts(showsValues, of: subject).reversed()
      case .members(let predicate): text += predicate.text(showsValues: showsValues, of: nil)
      }
    }
    return text
  }

  private enum DescriptionPart {
    case text(String)
    case predicate(FetchPredicate)
    /// A condition on members, whose paths begin at the member.
    case members(FetchPredicate)
  }

  private func parts(_ showsValues: Bool, of subject: String?) -> [DescriptionPart] {
    func text(_ expression: FetchExpression) -> String { expression.formatText(showsValues, of: subject) }
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
    case .list(let expression, let relation, let name, let options):
      [.text("\(text(expression)) \(relation.rawValue)\(options.suffix) \(PropertyPath.variableText(name))")]
    case .and(let predicates):
      predicates.isEmpty ? [.text("TRUEPREDICATE")] : Self.joined(predicates, by: " AND ")
    case .or(let predicates):
      predicates.isEmpty ? [.text("FALSEPREDICATE")] : Self.joined(predicates, by: " OR ")
    case .not(let predicate):
      [.text("NOT ("), .predicate(predicate), .text(")")]
    case .quantified(let quantifier, let path, let predicate):
      quantified(quantifier, path.formatText(of: subject), predicate, isMemberOfVariable: subject != nil)
    }
  }

  /// Prints a condition on members. Within the condition of a `SUBQUERY`, the inner condition has another subject, so
  /// that its text is made separately.
  private func quantified(
    _ quantifier: Quantifier, _ path: String, _ predicate: FetchPredicate, isMemberOfVariable: Bool
  ) -> [DescriptionPart] {
    [
      .text("\(quantifier.rawValue.uppercased()) \(path) ("),
      isMemberOfVariable ? .members(predicate) : .predicate(predicate), .text(")"),
    ]
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
  public var description: String { formatText(true, of: nil) }

  fileprivate func formatText(_ showsValues: Bool, of subject: String?) -> String {
    switch self {
    case .value(let value): return value.formatText(showsValues)
    case .path(let path): return path.formatText(of: subject)
    case .count(let path): return path.formatText(of: subject) + ".@count"
    case .variable(let name): return PropertyPath.variableText(name)
    case .arithmetic(.remainder, let left, let right):
      return "modulus:by:(\(left.formatText(showsValues, of: subject)), \(right.formatText(showsValues, of: subject)))"
    case .arithmetic(let operation, let left, let right):
      let operands = [left, right].map { operand in
        let text = operand.formatText(showsValues, of: subject)
        if case .arithmetic(let inner, _, _) = operand, inner != .remainder { return "(\(text))" }
        return text
      }
      return "\(operands[0]) \(operation.symbol) \(operands[1])"
    case .subquery(let path, let condition):
      let member = Self.memberVariable(besides: condition.variableNames)
      let text = condition.text(showsValues: showsValues, of: member)
      return "SUBQUERY(\(path.formatText(of: subject)), \(PropertyPath.variableText(member)), \(text)).@count"
    }
  }

  /// Returns a name for the member variable that differs from all variables of the condition.
  private static func memberVariable(besides names: Set<String>) -> String {
    var (name, number) = ("x", 1)
    while names.contains(name) {
      number += 1
      name = "x\(number)"
    }
    return name
  }
}

extension StringOptions {
  fileprivate var suffix: String {
    let letters = (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "")
    return letters.isEmpty ? "" : "[\(letters)]"
  }
}

extension PropertyPath {
  fileprivate func formatText(of subject: String?) -> String {
    let names = names.map(Self.formatText)
    guard let subject else { return names.isEmpty ? "SELF" : names.joined(separator: ".") }
    return ([Self.variableText(subject)] + names).joined(separator: ".")
  }

  fileprivate static func variableText(_ name: String) -> String {
    let text = formatText(name)
    return "$" + (text.first == "@" ? name.quoted("`") : text)
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
  public var description: String { path.formatText(of: nil) + options.suffix + (isAscending ? "" : " DESC") }
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
