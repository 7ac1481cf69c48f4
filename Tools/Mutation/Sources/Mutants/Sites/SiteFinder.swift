import SwiftOperators
import SwiftParser
import SwiftSyntax

/// Finds the places of a source file where a mutant can be made.
///
/// The finder sees syntax only. Some of its mutants have no type; the build finds and drops them.
final class SiteFinder: SyntaxVisitor {
  private let path: String
  private let converter: SourceLocationConverter
  private(set) var sites: [MutationSite] = []

  private init(path: String, tree: Syntax) {
    self.path = path
    converter = SourceLocationConverter(fileName: path, tree: tree)
    super.init(viewMode: .sourceAccurate)
  }

  /// The places of a file in the order of their positions.
  static func sites(in source: String, path: String) -> [MutationSite] {
    // An operator that the file declares itself stays unfolded, so that it becomes no site.
    let tree = OperatorTable.standardOperators.foldAll(Parser.parse(source: source)) { _ in }
    let finder = SiteFinder(path: path, tree: tree)
    finder.walk(tree)
    // The visits follow the tree. Sites with equal positions keep this order, so that every run draws the same mutants.
    return finder.sites.enumerated()
      .sorted { ($0.element.range.lowerBound, $0.offset) < ($1.element.range.lowerBound, $1.offset) }
      .map(\.element)
  }

  /// Adds a place for a change of a node.
  func add(
    _ mutationOperator: MutationOperator, at node: some SyntaxProtocol, mutated: String,
    as embedding: MutationSite.Embedding = .expression
  ) {
    let start = node.positionAfterSkippingLeadingTrivia
    append(
      mutationOperator, range: start..<node.endPositionBeforeTrailingTrivia, original: node.trimmedDescription,
      mutated: mutated, as: embedding)
  }

  /// Adds a place where code is only added.
  func add(
    _ mutationOperator: MutationOperator, at position: AbsolutePosition, added: String,
    as embedding: MutationSite.Embedding
  ) {
    append(mutationOperator, range: position..<position, original: "", mutated: added, as: embedding)
  }

  private func append(
    _ mutationOperator: MutationOperator, range: Range<AbsolutePosition>, original: String, mutated: String,
    as embedding: MutationSite.Embedding
  ) {
    sites.append(
      MutationSite(
        path: path, line: converter.location(for: range.lowerBound).line,
        range: range.lowerBound.utf8Offset..<range.upperBound.utf8Offset, mutationOperator: mutationOperator,
        original: original, mutated: mutated, embedding: embedding))
  }

  // MARK: Places without mutants

  // Code of other platforms is not compiled, so that all of its mutants would survive.
  override func visit(_ node: IfConfigDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  override func visit(_ node: AttributeSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  // Raw values of cases and patterns have to be literals.
  override func visit(_ node: EnumCaseDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  override func visit(_ node: ExpressionPatternSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  override func visit(_ node: MacroExpansionExprSyntax) -> SyntaxVisitorContinueKind { .skipChildren }

  // MARK: Conditions

  override func visit(_ node: IfExprSyntax) -> SyntaxVisitorContinueKind {
    addConditions(node.conditions)
    return .visitChildren
  }

  override func visit(_ node: WhileStmtSyntax) -> SyntaxVisitorContinueKind {
    addConditions(node.conditions)
    return .visitChildren
  }

  override func visit(_ node: RepeatStmtSyntax) -> SyntaxVisitorContinueKind {
    addNegation(of: node.condition)
    return .visitChildren
  }

  override func visit(_ node: TernaryExprSyntax) -> SyntaxVisitorContinueKind {
    addNegation(of: node.condition)
    return .visitChildren
  }

  override func visit(_ node: WhereClauseSyntax) -> SyntaxVisitorContinueKind {
    addNegation(of: node.condition)
    return .visitChildren
  }

  override func visit(_ node: GuardStmtSyntax) -> SyntaxVisitorContinueKind {
    addConditions(node.conditions)
    for case .expression(let condition) in node.conditions.map(\.condition) {
      add(.ignoreGuard, at: condition, mutated: "true")
    }
    return .visitChildren
  }

  private func addConditions(_ conditions: ConditionElementListSyntax) {
    for case .expression(let condition) in conditions.map(\.condition) { addNegation(of: condition) }
  }

  private func addNegation(of condition: ExprSyntax) {
    if condition.is(BooleanLiteralExprSyntax.self) { return }
    add(.negateCondition, at: condition, mutated: "!(\(condition.trimmedDescription))")
  }

  // MARK: Expressions and statements, found in the extensions

  override func visit(_ node: InfixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
    addOperatorSites(node)
    return .visitChildren
  }

  override func visit(_ node: IntegerLiteralExprSyntax) -> SyntaxVisitorContinueKind {
    addLiteralSite(node)
    return .visitChildren
  }

  override func visit(_ node: BooleanLiteralExprSyntax) -> SyntaxVisitorContinueKind {
    add(.replaceLiteral, at: node, mutated: node.literal.text == "true" ? "false" : "true")
    return .visitChildren
  }

  override func visit(_ node: MemberAccessExprSyntax) -> SyntaxVisitorContinueKind {
    addEndSite(node)
    return .visitChildren
  }

  override func visit(_ node: ArrayExprSyntax) -> SyntaxVisitorContinueKind {
    addElementSites(node)
    return .visitChildren
  }

  override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
    addArgumentSites(node)
    return .visitChildren
  }

  override func visit(_ node: CodeBlockItemListSyntax) -> SyntaxVisitorContinueKind {
    addStatementSites(node)
    return .visitChildren
  }

  override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind {
    addEarlyReturns(of: node)
    return .visitChildren
  }

  override func visit(_ node: PatternBindingSyntax) -> SyntaxVisitorContinueKind {
    addEarlyReturns(of: node)
    return .visitChildren
  }

  override func visit(_ node: ForStmtSyntax) -> SyntaxVisitorContinueKind {
    addStopSite(node)
    return .visitChildren
  }
}
