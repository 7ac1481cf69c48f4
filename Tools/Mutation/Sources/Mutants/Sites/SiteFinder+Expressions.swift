import SwiftSyntax

extension SiteFinder {
  /// The operators that replace each other, with the kind of the change.
  private static let counterparts: [String: (mutationOperator: MutationOperator, text: String)] = [
    "&&": (.swapLogic, "||"), "||": (.swapLogic, "&&"),
    "<": (.moveBoundary, "<="), "<=": (.moveBoundary, "<"), ">": (.moveBoundary, ">="), ">=": (.moveBoundary, ">"),
    "==": (.swapEquality, "!="), "!=": (.swapEquality, "=="), "===": (.swapEquality, "!=="),
    "!==": (.swapEquality, "==="),
    "+": (.swapArithmetic, "-"), "-": (.swapArithmetic, "+"), "&+": (.swapArithmetic, "&-"),
    "&-": (.swapArithmetic, "&+"),
  ]

  func addOperatorSites(_ node: InfixOperatorExprSyntax) {
    guard let text = node.operator.as(BinaryOperatorExprSyntax.self)?.operator.text else { return }
    let (left, right) = (node.leftOperand.trimmedDescription, node.rightOperand.trimmedDescription)
    if text == "??" {
      add(.useDefault, at: node, mutated: right)
      return
    }
    guard let counterpart = Self.counterparts[text] else { return }
    let isText = [node.leftOperand, node.rightOperand].contains { $0.is(StringLiteralExprSyntax.self) }
    if counterpart.mutationOperator == .swapArithmetic, isText { return }
    add(counterpart.mutationOperator, at: node, mutated: "\(left) \(counterpart.text) \(right)")
  }

  func addLiteralSite(_ node: IntegerLiteralExprSyntax) {
    switch node.literal.text {
    case "0": add(.replaceLiteral, at: node, mutated: "1")
    case "1": add(.replaceLiteral, at: node, mutated: "0")
    default: break
    }
  }

  private static let otherEnds = [
    "first": "last", "last": "first", "min": "max", "max": "min", "prefix": "suffix", "suffix": "prefix",
    "dropFirst": "dropLast", "dropLast": "dropFirst", "firstIndex": "lastIndex", "lastIndex": "firstIndex",
    "lowerBound": "upperBound", "upperBound": "lowerBound",
  ]

  /// A member and, where the member is called, the call: a ternary of unapplied methods would have no type.
  func addEndSite(_ node: MemberAccessExprSyntax) {
    guard let base = node.base, let other = Self.otherEnds[node.declName.baseName.text] else { return }
    let member = "\(base.trimmedDescription).\(other)"
    guard let call = node.parent?.as(FunctionCallExprSyntax.self), call.calledExpression.id == node.id else {
      // A target of an assignment or an argument for `inout` cannot be a ternary.
      if node.parent?.is(InOutExprSyntax.self) != true { add(.swapEnd, at: node, mutated: member) }
      return
    }
    let calleeLength = node.trimmedDescription.utf8.count
    let rest = String(decoding: call.trimmedDescription.utf8.dropFirst(calleeLength), as: UTF8.self)
    add(.swapEnd, at: call, mutated: member + rest)
  }

  /// The first and the last element of a literal; a set of options may lose its only one.
  func addElementSites(_ node: ArrayExprSyntax) {
    let elements = node.elements.map(\.expression)
    let texts = elements.map(\.trimmedDescription)
    if elements.count == 1, elements[0].as(MemberAccessExprSyntax.self)?.base == nil,
      elements[0].is(MemberAccessExprSyntax.self)
    {
      add(.dropElement, at: node, mutated: "[]")
    } else if elements.count > 1 {
      add(.dropElement, at: node, mutated: "[\(texts.dropFirst().joined(separator: ", "))]")
      add(.dropElement, at: node, mutated: "[\(texts.dropLast().joined(separator: ", "))]")
    }
  }

  /// An argument that hands on a parameter or variable of its own name: the callee often has a default for it.
  func addArgumentSites(_ node: FunctionCallExprSyntax) {
    guard node.trailingClosure == nil, node.arguments.count > 1 else { return }
    let arguments = Array(node.arguments)
    for (index, argument) in arguments.enumerated() {
      guard let label = argument.label?.text,
        argument.expression.as(DeclReferenceExprSyntax.self)?.baseName.text == label
      else { continue }
      let kept = arguments.indices.filter { $0 != index }.map { position in
        let argument = arguments[position]
        let label = argument.label.map { "\($0.text): " } ?? ""
        return label + argument.expression.trimmedDescription
      }
      let callee = node.calledExpression.trimmedDescription
      add(.dropArgument, at: node, mutated: "\(callee)(\(kept.joined(separator: ", ")))")
    }
  }
}
