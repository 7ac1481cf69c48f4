import Foundation

extension FetchPredicate: CustomStringConvertible {
  /// The predicate as format text.
  ///
  /// ``init(format:_:)`` parses the text to an equal predicate, except for predicates that format text cannot express:
  /// identifiers of objects, conjunctions and disjunctions of fewer than two parts, and conditions on members that use the
  /// records around the member, whose text compares the number of members. The text contains the predicate's constants,
  /// so do not log it.
  public var description: String { text(showsValues: true, of: [nil]) }

  /// The predicate as format text with a question mark in place of each constant, for logs. Contains the names of
  /// properties and variables.
  public var textWithoutValues: String { text(showsValues: false, of: [nil]) }

  /// Returns the predicate as format text.
  ///
  /// - Parameters:
  ///   - showsValues: Whether the text has the constants instead of question marks.
  ///   - subjects: The variables that stand for the records of the conditions, from the outermost to the innermost; `nil`
  ///     for a record whose names have no variable.
  fileprivate func text(showsValues: Bool, of subjects: [String?]) -> String {
    var text = ""
    // An explicit stack in place of recursion, because predicates may be nested deeply.
    var stack = [DescriptionPart.predicate(self, of: subjects)]
    while let part = stack.popLast() {
      switch part {
      case .text(let words): text += words
      case .predicate(let predicate, let subjects): stack += predicate.parts(showsValues, of: subjects).reversed()
      }
    }
    return text
  }

  /// A part of the text that is not complete yet.
  private enum DescriptionPart {
    /// Words of the text.
    case text(String)
    /// A predicate that still has to become words, with its subjects.
    case predicate(FetchPredicate, of: [String?])
  }

  /// The words of the predicate, and its own parts in their order.
  private func parts(_ showsValues: Bool, of subjects: [String?]) -> [DescriptionPart] {
    func text(_ expression: FetchExpression) -> String { expression.formatText(showsValues, of: subjects) }
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
      predicates.isEmpty ? [.text("TRUEPREDICATE")] : Self.joined(predicates, by: " AND ", of: subjects)
    case .or(let predicates):
      predicates.isEmpty ? [.text("FALSEPREDICATE")] : Self.joined(predicates, by: " OR ", of: subjects)
    case .not(let predicate):
      [.text("NOT ("), .predicate(predicate, of: subjects), .text(")")]
    case .quantified(let quantifier, let path, let predicate) where predicate.hasOuterPaths:
      [.text(FetchPredicate.counted(quantifier, path, predicate).text(showsValues: showsValues, of: subjects))]
    case .quantified(let quantifier, let path, let predicate):
      [
        .text("\(quantifier.rawValue.uppercased()) \(path.formatText(of: subjects)) ("),
        .predicate(predicate, of: subjects + [nil]), .text(")"),
      ]
    }
  }

  /// A condition on members as a comparison of their number, whose text names the member by a variable. The text of a
  /// condition without a variable could not name the records around the member.
  private static func counted(
    _ quantifier: Quantifier, _ path: PropertyPath, _ predicate: FetchPredicate
  ) -> FetchPredicate {
    switch quantifier {
    case .any: .comparison(.subquery(path, predicate), .greater, .value(.int(0)))
    case .none: .comparison(.subquery(path, predicate), .equal, .value(.int(0)))
    case .all: .comparison(.subquery(path, .not(predicate)), .equal, .value(.int(0)))
    }
  }

  /// The parts of a conjunction or a disjunction, with parentheses where needed.
  private static func joined(
    _ predicates: [FetchPredicate], by separator: String, of subjects: [String?]
  ) -> [DescriptionPart] {
    var parts: [DescriptionPart] = []
    for predicate in predicates {
      if !parts.isEmpty { parts.append(.text(separator)) }
      switch predicate {
      case .and, .or: parts += [.text("("), .predicate(predicate, of: subjects), .text(")")]
      default: parts.append(.predicate(predicate, of: subjects))
      }
    }
    return parts
  }
}

extension FetchExpression: CustomStringConvertible {
  /// The expression as format text, with its constants.
  public var description: String { formatText(true, of: [nil]) }

  /// The expression as format text. The parameters are those of ``FetchPredicate/text(showsValues:of:)``.
  fileprivate func formatText(_ showsValues: Bool, of subjects: [String?]) -> String {
    switch self {
    case .value(let value): return value.formatText(showsValues)
    case .path(let path): return path.formatText(of: subjects)
    case .count(let path): return path.formatText(of: subjects) + ".@count"
    case .variable(let name): return PropertyPath.variableText(name)
    case .arithmetic(.remainder, let left, let right):
      let (first, second) = (left.formatText(showsValues, of: subjects), right.formatText(showsValues, of: subjects))
      return "modulus:by:(\(first), \(second))"
    case .arithmetic(let operation, let left, let right):
      let operands = [left, right].map { operand in
        let text = operand.formatText(showsValues, of: subjects)
        if case .arithmetic(let inner, _, _) = operand, inner != .remainder { return "(\(text))" }
        return text
      }
      return "\(operands[0]) \(operation.symbol) \(operands[1])"
    case .subquery(let path, let condition):
      let member = Self.memberVariable(besides: condition.variableNames.union(subjects.compactMap { $0 }))
      let text = condition.text(showsValues: showsValues, of: subjects + [member])
      return "SUBQUERY(\(path.formatText(of: subjects)), \(PropertyPath.variableText(member)), \(text)).@count"
    }
  }

  /// Returns a name for the member variable that differs from all variables of the condition, and of those around it.
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
  /// The options after an operator, such as `[cd]`; empty without options.
  fileprivate var suffix: String {
    let letters = (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "")
    return letters.isEmpty ? "" : "[\(letters)]"
  }
}

extension PropertyPath {
  /// - Parameter subjects: As in ``FetchPredicate/text(showsValues:of:)``.
  fileprivate func formatText(of subjects: [String?]) -> String {
    let names = names.map(Self.formatText)
    let index = subjects.count - 1 - outerLevel
    guard subjects.indices.contains(index), let subject = subjects[index] else {
      return names.isEmpty ? "SELF" : names.joined(separator: ".")
    }
    return ([Self.variableText(subject)] + names).joined(separator: ".")
  }

  /// A variable with a name, in backticks where needed.
  fileprivate static func variableText(_ name: String) -> String {
    let text = formatText(name)
    return "$" + (text.first == "@" ? name.quoted("`") : text)
  }

  /// A name in format text, in backticks unless it is a plain name or a function.
  private static func formatText(_ name: String) -> String {
    let isPlain =
      name.unicodeScalars.first?.beginsName == true && name.unicodeScalars.allSatisfy(\.continuesName)
      && PredicateFormatKeyword(word: name) == nil
    return isPlain || AggregateFunction(pathOperator: name) != nil ? name : name.quoted("`")
  }
}

extension String {
  /// The text in quotation marks, with a backslash before each mark inside.
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
  /// The criterion as text: the path, the ignored differences, `DESC` for the descending order, and the place of
  /// missing values.
  public var description: String {
    path.formatText(of: [nil]) + options.suffix + (isAscending ? "" : " DESC") + missingValues.suffix
  }
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
