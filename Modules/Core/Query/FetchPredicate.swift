/// The condition of a fetch, as data.
///
/// Three ways of writing lead to this one tree: typed expressions, format text, and Foundation's `Predicate`. What a
/// tree means is defined by ``FetchPredicate/evaluate(_:with:)`` alone; a store translates what it can translate exactly
/// and leaves the rest to it.
///
/// Logic is two-valued. A missing value equals a missing value and differs from every other; in any other comparison it
/// makes the comparison false. `not` turns true into false and false into true, with missing values too.
///
/// Conditions of AND in AND, of OR in OR, and negations of negations may be nested at any depth: they are one list, or
/// none. What is left of a condition after that may have 200 levels; a fetch refuses a deeper one with
/// ``ErrorCode/invalidPredicate``.
public indirect enum FetchPredicate: Sendable, Hashable {
  case constant(Bool)
  case comparison(FetchExpression, ComparisonOperator, FetchExpression, StringOptions = [])
  /// Whether the expression's value is one of a list. Null is in a list with a null.
  case membership(FetchExpression, in: [AttributeValue], StringOptions = [])
  /// Whether lower <= value <= upper; false when one of them is missing.
  case between(FetchExpression, FetchExpression, FetchExpression)
  case and([FetchPredicate])
  case or([FetchPredicate])
  case not(FetchPredicate)
  /// A condition on the members of a to-many relationship. Paths inside begin at the member.
  case quantified(Quantifier, PropertyPath, FetchPredicate)

  public enum Quantifier: String, Sendable, Hashable {
    /// At least one member satisfies the condition.
    case any
    /// Every member does; true without members.
    case all
    /// No member does.
    case none
  }
}

/// An operand of a comparison.
public indirect enum FetchExpression: Sendable, Hashable {
  case value(AttributeValue)
  /// The value of a property, reached over to-one relationships. Null when one on the way is missing. A path that ends
  /// in a to-one relationship is the target's identifier; an empty path is the record's own.
  case path(PropertyPath)
  /// The number of members of a to-many relationship; zero when a record on the way to it is missing.
  case count(PropertyPath)
}

/// Names of properties, from the fetched entity on.
///
/// A composite's part is one name, `composite.part`; in ``init(_:)`` a dot separates names, and resolution puts
/// composites together again.
public struct PropertyPath: Sendable, Hashable, CustomStringConvertible {
  public var names: [String]
  public init(names: [String]) { self.names = names }
  public init(_ text: String) { names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init) }
  public var description: String { names.joined(separator: ".") }
  /// The record itself.
  public static let own = PropertyPath(names: [])
}

public enum ComparisonOperator: String, Sendable, Hashable, CaseIterable {
  case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
  case beginsWith, endsWith, contains
  /// The whole text against a pattern where `*` stands for any characters, `?` for one, and a backslash takes the next
  /// character as it is.
  case like
  /// The whole text against a regular expression.
  case matches
}

extension ComparisonOperator {
  /// The operator that has the same result with exchanged operands; `nil` for operators of texts.
  package var mirrored: ComparisonOperator? {
    switch self {
    case .equal, .notEqual: self
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    case .beginsWith, .endsWith, .contains, .like, .matches: nil
    }
  }
}
