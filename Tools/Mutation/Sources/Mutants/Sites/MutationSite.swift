/// A place in a source file with one possible change.
public struct MutationSite: Hashable, Sendable {
  /// The form in which one build contains both the original and the changed code.
  public enum Embedding: Hashable, Sendable {
    /// An expression. A ternary operator chooses between original and change.
    case expression
    /// A statement. An `if` chooses between original and change; an empty text means no statement.
    case statement
    /// Statements before the first statement of a body. A body with a single expression then needs a `return`.
    case prologue(needsReturn: Bool)
    /// Statements after the last statement of a body.
    case epilogue
  }

  /// Relative to the root of the package.
  public let path: String
  /// Counted from 1.
  public let line: Int
  /// The range of the original code, in bytes of UTF-8 from the beginning of the file. Empty if the change only adds
  /// code.
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

  /// Whether one build cannot contain both changes, because one is within the other.
  func overlaps(_ other: MutationSite) -> Bool {
    path == other.path && range.lowerBound <= other.range.upperBound && other.range.lowerBound <= range.upperBound
  }
}
