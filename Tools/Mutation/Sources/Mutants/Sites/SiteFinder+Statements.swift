import SwiftSyntax

extension SiteFinder {
  func addStatementSites(_ items: CodeBlockItemListSyntax) {
    let mayLoseOnly = Self.mayLoseItsOnlyStatement(items)
    for item in items {
      guard case .expr(let expression) = item.item else { continue }
      addCompoundAssignment(expression)
      if Self.isDroppable(expression), items.count > 1 || mayLoseOnly {
        add(.dropStatement, at: expression, mutated: "", as: .statement)
      }
    }
  }

  /// A single expression is the value of a closure, a getter or a function with a result.
  private static func mayLoseItsOnlyStatement(_ items: CodeBlockItemListSyntax) -> Bool {
    guard let block = items.parent?.as(CodeBlockSyntax.self) else { return false }
    if let function = block.parent?.as(FunctionDeclSyntax.self) { return function.signature.returnClause == nil }
    if let accessor = block.parent?.as(AccessorDeclSyntax.self) {
      return !["get", "_read", "unsafeAddress"].contains(accessor.accessorSpecifier.text)
    }
    return true
  }

  private static let initializers: Set<String> = ["super.init", "self.init"]
  private static let traps: Set<String> = ["fatalError", "preconditionFailure", "assert", "assertionFailure"]

  /// Whether the expression is an assignment or a call, but for those without an effect that a test could see.
  private static func isDroppable(_ expression: ExprSyntax) -> Bool {
    if let attempt = expression.as(TryExprSyntax.self) { return isDroppable(attempt.expression) }
    if let wait = expression.as(AwaitExprSyntax.self) { return isDroppable(wait.expression) }
    if let assignment = expression.as(InfixOperatorExprSyntax.self) {
      return assignment.operator.is(AssignmentExprSyntax.self)
        || assignment.operator.as(BinaryOperatorExprSyntax.self).map { compound[$0.operator.text] != nil } == true
    }
    guard let call = expression.as(FunctionCallExprSyntax.self) else { return false }
    let callee = call.calledExpression.trimmedDescription
    let words = callee.split { !$0.isLetter }.map { $0.lowercased() }
    return !initializers.contains(callee) && !traps.contains(callee)
      && !words.contains { ["log", "logger"].contains($0) }
  }

  private static let compound = ["+=": "-=", "-=": "+=", "&+=": "&-=", "&-=": "&+="]

  private func addCompoundAssignment(_ expression: ExprSyntax) {
    guard let assignment = expression.as(InfixOperatorExprSyntax.self),
      let text = assignment.operator.as(BinaryOperatorExprSyntax.self)?.operator.text,
      let other = Self.compound[text], !assignment.rightOperand.is(StringLiteralExprSyntax.self)
    else { return }
    let (left, right) = (assignment.leftOperand.trimmedDescription, assignment.rightOperand.trimmedDescription)
    add(.swapArithmetic, at: expression, mutated: "\(left) \(other) \(right)", as: .statement)
  }

  // MARK: Early returns

  func addEarlyReturns(of function: FunctionDeclSyntax) {
    guard let body = function.body else { return }
    addEarlyReturns(of: function.signature.returnClause?.type, in: body.statements)
  }

  func addEarlyReturns(of property: PatternBindingSyntax) {
    guard let type = property.typeAnnotation?.type, case .getter(let body) = property.accessorBlock?.accessors else {
      return
    }
    addEarlyReturns(of: type, in: body)
  }

  private func addEarlyReturns(of type: TypeSyntax?, in body: CodeBlockItemListSyntax) {
    guard let first = body.first else { return }
    var needsReturn = false
    if type != nil, body.count == 1, case .expr = first.item { needsReturn = true }
    for text in Self.earlyReturns(of: type) {
      add(
        .returnEarly, at: first.positionAfterSkippingLeadingTrivia, added: text,
        as: .prologue(needsReturn: needsReturn))
    }
  }

  private static func earlyReturns(of type: TypeSyntax?) -> [String] {
    guard let type else { return ["return"] }
    if type.is(OptionalTypeSyntax.self) { return ["return nil"] }
    if type.is(ArrayTypeSyntax.self) { return ["return []"] }
    if type.is(DictionaryTypeSyntax.self) { return ["return [:]"] }
    switch type.trimmedDescription {
    case "Void": return ["return"]
    case "Bool": return ["return true", "return false"]
    case "Int": return ["return 0"]
    case "String": return ["return \"\""]
    default: return []
    }
  }

  // MARK: Loops

  func addStopSite(_ loop: ForStmtSyntax) {
    guard let last = loop.body.statements.last else { return }
    if case .stmt(let statement) = last.item, Self.leaves(statement) { return }
    add(.stopAfterFirst, at: last.endPositionBeforeTrailingTrivia, added: "break", as: .epilogue)
  }

  private static func leaves(_ statement: StmtSyntax) -> Bool {
    statement.is(ReturnStmtSyntax.self) || statement.is(ThrowStmtSyntax.self) || statement.is(BreakStmtSyntax.self)
      || statement.is(ContinueStmtSyntax.self)
  }
}
