/// The condition of a fetch, as data.
///
/// Typed expressions, format text, and Foundation's `Predicate` all produce this tree.
/// ``FetchPredicate/evaluate(_:with:)`` alone defines its meaning: a store translates only the parts that it can
/// translate exactly, and Core evaluates the rest.
///
/// Logic is two-valued. A missing value equals a missing value and differs from every other value. Every other
/// comparison with a missing value is false. `not` turns true into false and false into true, with missing values too.
///
/// Nested conjunctions, nested disjunctions and double negations are flattened, and may have some 10,000 levels. The
/// flattened condition may have 200 levels; a fetch refuses a deeper condition with ``ErrorCode/invalidPredicate``. The
/// release of a condition recurses for each level, so that a condition of 100,000 levels exhausts the stack of its
/// thread before a fetch can refuse the condition. Make one list with ``and(_:)`` or ``or(_:)`` for parts of any number.
public indirect enum FetchPredicate: Sendable, Hashable {
  /// True or false for every record.
  case constant(Bool)
  /// Compares two operands of comparable types. The options name the differences of texts to ignore.
  case comparison(FetchExpression, ComparisonOperator, FetchExpression, StringOptions = [])
  /// Whether the expression's value is in a list. A list with a null contains missing values.
  case membership(FetchExpression, in: [AttributeValue], StringOptions = [])
  /// Whether lower <= value <= upper; false if any of the three is missing.
  case between(FetchExpression, FetchExpression, FetchExpression)
  /// Whether the expression's value is in the list of a variable, or between the two bounds of a variable.
  /// ``substituting(_:)`` replaces the variable.
  case list(FetchExpression, ListRelation, variable: String, StringOptions = [])
  /// Whether every part is true; true without parts.
  case and([FetchPredicate])
  /// Whether at least one part is true; false without parts.
  case or([FetchPredicate])
  /// Whether the part is false.
  case not(FetchPredicate)
  /// A condition on the members of a to-many relationship. Paths inside begin at the member, or at a record around it;
  /// see ``PropertyPath/outerLevel``.
  case quantified(Quantifier, PropertyPath, FetchPredicate)

  /// The members of a to-many relationship that must satisfy a condition.
  public enum Quantifier: String, Sendable, Hashable {
    /// At least one member satisfies the condition.
    case any
    /// Every member satisfies the condition; true without members.
    case all
    /// No member satisfies the condition.
    case none
  }

  /// The relation of a value to the list of a variable.
  public enum ListRelation: String, Sendable, Hashable {
    /// The value is in the list.
    case membership = "IN"
    /// The list consists of two bounds, and lower <= value <= upper.
    case between = "BETWEEN"
  }
}

/// An operand of a comparison.
public indirect enum FetchExpression: Sendable, Hashable {
  /// A constant. The check converts a constant to the type of the compared property.
  case value(AttributeValue)
  /// The value of a property, reached over to-one relationships. Null if a record on the path is missing. The value of
  /// a path to a to-one relationship is the target's identifier, even of a deleted target; the value of an empty path
  /// is the record's own identifier. A function after a to-many relationship, as in `tracks.@sum.length`, is an
  /// aggregate of the members; see ``AggregateFunction``.
  case path(PropertyPath)
  /// The number of members of a to-many relationship; zero if a record on the path is missing.
  case count(PropertyPath)
  /// The number of members of a to-many relationship that satisfy a condition; zero if a record on the path is missing.
  /// Paths in the condition begin at the member, or at a record around it; see ``PropertyPath/outerLevel``.
  case subquery(PropertyPath, FetchPredicate)
  /// The result of a calculation with two numbers; see ``ArithmeticOperator`` for its type and for overflow.
  case arithmetic(ArithmeticOperator, FetchExpression, FetchExpression)
  /// A variable, which ``FetchPredicate/substituting(_:)`` replaces by a value. A fetch refuses a remaining variable
  /// with ``ErrorCode/invalidPredicate``.
  case variable(String)
}

/// A path of property names, beginning at the fetched entity.
///
/// A composite's part is a single name, `composite.part`. ``init(_:)`` separates names at each dot, and the resolution
/// joins the names of composites again.
public struct PropertyPath: Sendable, Hashable, CustomStringConvertible {
  /// The names of properties, in order.
  public var names: [String]
  /// The number of conditions on members between the path and the record at which it begins.
  ///
  /// At 0 the path begins at the record of its own condition. Within a condition on members, a path at level 1 begins at
  /// the record that the condition around it is about, at level 2 at the next one outwards.
  public var outerLevel = 0
  /// The record of a typed expression at which the path begins, until the expression is complete.
  var scope: QueryScopeID?
  /// Makes a path from names. No name is looked up before the path is resolved for an entity.
  public init(names: [String], outerLevel: Int = 0) {
    self.names = names
    self.outerLevel = outerLevel
  }
  /// Makes a path from names separated by dots, such as `artist.name`.
  public init(_ text: String) { names = text.pathNames }
  /// The names, separated by dots.
  public var description: String { names.joined(separator: ".") }
  /// The record itself.
  public static let own = PropertyPath(names: [])
}

/// An operator of a comparison. The text operators compare texts only; equality is defined for all kinds of values.
public enum ComparisonOperator: String, Sendable, Hashable, CaseIterable {
  /// Comparisons of any two values of comparable types. Texts compare by their UTF-8 bytes, unless options say
  /// otherwise.
  case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
  /// Whether a text begins with, ends with, or contains another text. Every text contains the empty text.
  case beginsWith, endsWith, contains
  /// Whether the whole text matches a pattern: `*` stands for any characters, `?` for one character, and a backslash
  /// makes the next character literal.
  case like
  /// Whether the whole text matches a regular expression.
  case matches
}

extension ComparisonOperator {
  /// The operator with the same result after the operands are exchanged; `nil` for text operators.
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
