extension FetchPredicate {
  /// Reads a predicate from format text.
  ///
  /// ```swift
  /// try FetchPredicate(format: "year >= %ld AND artist.name BEGINSWITH[cd] %@ AND ANY tracks.length > 300", 1990, "A")
  /// ```
  ///
  /// - Logic: `AND` `&&`, `OR` `||`, `NOT` `!`, parentheses, `TRUEPREDICATE`, `FALSEPREDICATE`.
  /// - Comparison: `==` `=` `!=` `<>` `<` `<=` `=<` `>` `>=` `=>`, `BETWEEN {a, b}`, `IN {a, b}`, `NOT IN {a, b}`.
  /// - Text: `BEGINSWITH` `ENDSWITH` `CONTAINS` `LIKE` `MATCHES`.
  /// - Options, after an operator: `[c]` for case, `[d]` for diacritics, `[cd]` for both.
  /// - Members: `ANY` (or `SOME`), `ALL`, `NONE` before `path.to.many.attribute operator value`, or before
  ///   `path.to.many (condition)`, whose names are looked up at the member; `path.to.many.@count`; `value IN
  ///   path.to.many`.
  /// - Values: numbers; `'text'` and `"text"` with `\\` `\"` `\'` `\n` `\r` `\t` `\uXXXX`; `TRUE` `FALSE` `YES` `NO`
  ///   `NULL` `NIL`; `CAST("…", "UUID")`, and so for `Decimal`, `Double`, `Data` (base 64) and `Date` (a number:
  ///   microseconds since 1970).
  /// - Names: `title`, `artist.name`, `SELF`; `#any`, or `any` in backticks, for a name spelled like a keyword: `isLive
  ///   == no` compares with the constant, `isLive == #no` with the property `no`.
  /// - Arithmetic: `+` `-` `*` `/` `modulus:by:(a, b)`, with parentheses; see ``ArithmeticOperator``.
  /// - Filtered members: `SUBQUERY(tracks, $t, $t.length > 200 AND $t.plays < 3).@count`. The variable
  ///   stands for a member; names without a variable belong to the record, as in `$t.length > minimumLength`.
  /// - Variables: `$name` for a value, and after `IN` and `BETWEEN` for a list. ``substituting(_:)`` replaces
  ///   variables.
  /// - Arguments: `%@`, `%d`, `%ld` and other specifiers for a value; `%@` after `IN` and `BETWEEN` for an array; `%K`
  ///   for a path.
  ///
  /// Keywords may be written in lower case.
  ///
  /// - Parameter arguments: The values of `%@` and `%K`, in order: values of attribute types, `nil`,
  ///   ``ManagedObjectID``, and arrays and sets of such values.
  /// - Throws: ``ErrorCode/invalidPredicate``, with the position in the text, counted from 1.
  public init(format: String, _ arguments: (any Sendable)?...) throws(CoherenceError) {
    try self.init(format: format, arguments: arguments)
  }

  /// Reads a predicate from format text, with its arguments in an array.
  ///
  /// - Throws: As ``init(format:_:)``.
  public init(format: String, arguments: [(any Sendable)?]) throws(CoherenceError) {
    var lexer = PredicateFormatLexer(format)
    var parser = PredicateFormatParser(tokens: try lexer.tokens(), arguments: arguments)
    self = try parser.predicate()
  }
}

/// A keyword of format text, in upper or lower case.
enum PredicateFormatKeyword: String, CaseIterable {
  case and = "AND"
  case or = "OR"
  case not = "NOT"
  case `in` = "IN"
  case between = "BETWEEN"
  case any = "ANY"
  case some = "SOME"
  case all = "ALL"
  case none = "NONE"
  case truePredicate = "TRUEPREDICATE"
  case falsePredicate = "FALSEPREDICATE"
  case null = "NULL"
  case `nil` = "NIL"
  case `true` = "TRUE"
  case `false` = "FALSE"
  case yes = "YES"
  case no = "NO"
  case own = "SELF"
  case cast = "CAST"
  case object = "OBJECT"
  case subquery = "SUBQUERY"
  case function = "FUNCTION"
  case beginsWith = "BEGINSWITH"
  case endsWith = "ENDSWITH"
  case contains = "CONTAINS"
  case like = "LIKE"
  case matches = "MATCHES"

  init?(word: String) { self.init(rawValue: word.uppercased()) }

  /// The comparison operator of the keyword; `nil` for other keywords.
  var comparison: ComparisonOperator? {
    switch self {
    case .beginsWith: .beginsWith
    case .endsWith: .endsWith
    case .contains: .contains
    case .like: .like
    case .matches: .matches
    default: nil
    }
  }

  var quantifier: FetchPredicate.Quantifier? {
    switch self {
    case .any, .some: .any
    case .all: .all
    case .none: FetchPredicate.Quantifier.none
    default: nil
    }
  }
}

extension CoherenceError {
  /// The error for malformed format text.
  static func unreadable(at position: Int, _ reason: String) -> CoherenceError {
    CoherenceError(.invalidPredicate, "The format cannot be read at character \(position): \(reason).")
  }
}
