import SwiftSyntax
import SwiftSyntaxBuilder

extension AttributeSyntax {
  /// The attribute without the argument with a label.
  func without(_ label: String) -> AttributeSyntax { without { $0.label?.text == label } }

  /// The attribute without some arguments, and without parentheses if none is left.
  func without(_ isRemoved: (LabeledExprSyntax) -> Bool) -> AttributeSyntax {
    var kept = argumentList.filter { !isRemoved($0) }
    var changed = self
    guard !kept.isEmpty else {
      let trivia = trailingTrivia
      changed.leftParen = nil
      changed.arguments = nil
      changed.rightParen = nil
      changed.trailingTrivia = trivia
      return changed
    }
    kept[kept.index(before: kept.endIndex)].trailingComma = nil
    kept[kept.index(before: kept.endIndex)].trailingTrivia = []
    changed.arguments = .argumentList(kept)
    return changed
  }

  /// The attribute with another argument, the last one.
  func adding(_ argument: String) -> AttributeSyntax {
    let arguments = argumentList.map(\.trimmedDescription).map { $0.hasSuffix(",") ? String($0.dropLast()) : $0 }
    var changed: AttributeSyntax =
      "@\(attributeName.trimmed)(\(raw: (arguments + [argument]).joined(separator: ", ")))"
    changed.leadingTrivia = leadingTrivia
    changed.trailingTrivia = trailingTrivia.isEmpty ? .space : trailingTrivia
    return changed
  }
}
