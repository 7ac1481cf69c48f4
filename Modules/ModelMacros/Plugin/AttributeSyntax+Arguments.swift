import SwiftSyntax
import SwiftSyntaxBuilder

extension AttributeSyntax {
  /// The attribute without the argument with a label.
  func without(_ label: String) -> AttributeSyntax { without { $0.label?.text == label } }

  /// The attribute without some arguments, and without parentheses if none is left.
  func without(_ isRemoved: (LabeledExprSyntax) -> Bool) -> AttributeSyntax {
    var remaining = argumentList.filter { !isRemoved($0) }
    var changed = self
    guard !remaining.isEmpty else {
      let trivia = trailingTrivia
      changed.leftParen = nil
      changed.arguments = nil
      changed.rightParen = nil
      changed.trailingTrivia = trivia
      return changed
    }
    remaining[remaining.index(before: remaining.endIndex)].trailingComma = nil
    remaining[remaining.index(before: remaining.endIndex)].trailingTrivia = []
    changed.arguments = .argumentList(remaining)
    return changed
  }

  /// The attribute with a further argument at the end.
  func adding(_ argument: String) -> AttributeSyntax {
    let arguments = argumentList.map(\.trimmedDescription).map { $0.hasSuffix(",") ? String($0.dropLast()) : $0 }
    var changed: AttributeSyntax =
      "@\(attributeName.trimmed)(\(raw: (arguments + [argument]).joined(separator: ", ")))"
    changed.leadingTrivia = leadingTrivia
    changed.trailingTrivia = trailingTrivia
    return changed
  }
}
