/// A place in a source file with one possible change.
public struct MutationSite: Hashable, Sendable {
  /// The combination of original and changed code, so that one build serves both.
  public enum Embedding: Hashable, Sendable {
    /// An expression: a ternary chooses.
    case expression
    /// A statement: an `if` chooses. An empty text stands for no statement.
    case statement
    /// Statements before the first one of a body. A body of a single expression needs a `return` behind them.
    case prologue(needsReturn: Bool)
    /// Statements behind the last one of a body.
    case epilogue
  }

  /// Relative to the root of the package.
  public let path: String
  /// Counted from 1.
  public let line: Int
  /// In bytes of UTF-8 from the beginning of the file. Empty where code is only added.
  public let range: Range<Int>
  public let mutationOperator: MutationOperator
  public let original: String
  public let mutated: String
  public let embedding: Embedding

  /// The code that does both: the change in a process for which the condition holds, the original in every other.
  ///
  /// - Parameter condition: An expression of type `Bool`, with the number of the mutant.
  func text(choosingBy condition: String) -> String {
    switch embedding {
    case .expression: "(\(condition) ? (\(mutated)) : (\(original)))"
    case .statement where mutated.isEmpty: "if !\(condition) { \(original) }"
    case .statement: "if \(condition) { \(mutated) } else { \(original) }"
    case .prologue(let needsReturn): "if \(condition) { \(mutated) }; \(needsReturn ? "return " : "")"
    case .epilogue: "; if \(condition) { \(mutated) }"
    }
  }

  /// Whether the changes at both places cannot stand in one build, because one would lie within the other.
  func overlaps(_ other: MutationSite) -> Bool {
    path == other.path && range.lowerBound <= other.range.upperBound && other.range.lowerBound <= range.upperBound
  }
}
