import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder

/// The initial value of a variable.
struct DefaultValue {
  let expression: ExprSyntax

  /// The value as a literal of the forms that ``Literal`` reads; `nil` for another value.
  private var literal: Literal? { Literal(expression) }

  /// Whether the value is `nil`, or a literal of the forms that ``Literal`` reads.
  var isLiteral: Bool { isNil || literal != nil }

  /// The value as text with the name of the type around the variable in the place of `Self`, which is another type in a
  /// nested type. A text of several lines becomes a literal of one line, because it would depend on the indentation of
  /// the expansion.
  func text(in typeName: String) -> String {
    literal?.text ?? SelfRewriter(typeName).rewrite(expression).trimmedDescription
  }

  /// The type of the value, as far as its text shows; `nil` when the type needs an annotation.
  var inferredType: TypeSyntax? {
    if let literal { return literal.type.map { TypeSyntax(stringLiteral: $0) } }
    if let text = expression.as(StringLiteralExprSyntax.self), text.representedLiteralValue == nil {
      return TypeSyntax("String")
    }
    guard let call = expression.as(FunctionCallExprSyntax.self) else { return nil }
    let name = call.calledExpression.trimmedDescription
    let last = name.split(separator: ".").last.map(String.init) ?? ""
    // A call of a type is an initialiser. Names of types begin with a capital letter.
    guard !name.hasPrefix("."), last.first?.isUppercase == true, last.allSatisfy({ $0.isLetter || $0.isNumber }) else {
      return nil
    }
    return TypeSyntax(stringLiteral: name)
  }

  /// Whether each evaluation gives another value, as far as the text shows: the current time, a new UUID, a random
  /// value.
  ///
  /// - Parameter type: The type of the value, for a call of `.init` that does not name it.
  func isNondeterministic(_ type: TypeShape? = nil) -> Bool {
    if let member = expression.as(MemberAccessExprSyntax.self) { return member.declName.baseName.text == "now" }
    guard let call = expression.as(FunctionCallExprSyntax.self) else { return false }
    let names = call.calledExpression.trimmedDescription.split(separator: ".").map(String.init)
    if names.last == "random" { return true }
    let name = names.last == "init" ? names.dropLast().last ?? type?.wrapped.nominal?.name : names.last
    if call.arguments.isEmpty, ["Date", "UUID"].contains(name) { return true }
    return call.arguments.contains { DefaultValue(expression: $0.expression.trimmed).isNondeterministic() }
  }

  /// Whether the value is `nil`, which is the value of an optional property without a default as well.
  var isNil: Bool { expression.is(NilLiteralExprSyntax.self) }

  /// The value as the model's default for a type; `nil` when the value is evaluated for each new object.
  func constant(of type: TypeShape) -> String? {
    if let literal { return literal.text }
    // A named value of a date or a UUID may depend on the moment: `.now`, `.random`.
    guard !["Date", "UUID"].contains(type.wrapped.nominal?.name),
      let member = expression.as(MemberAccessExprSyntax.self)
    else {
      return nil
    }
    let base = member.base?.trimmedDescription
    return base == nil || base == type.text ? expression.trimmedDescription : nil
  }
}

/// Replaces `Self` by the name of a type.
private final class SelfRewriter: SyntaxRewriter {
  private let name: String

  init(_ name: String) {
    self.name = name
    super.init()
  }

  override func visit(_ token: TokenSyntax) -> TokenSyntax {
    token.tokenKind == .keyword(.Self) ? token.with(\.tokenKind, .identifier(name)) : token
  }
}

/// A literal of a number, a Boolean, or a text without interpolation. Arrays and dictionaries are no such literals.
private struct Literal {
  let text: String
  /// The type that the compiler infers.
  let type: String?

  init?(_ expression: ExprSyntax) {
    if let string = expression.as(StringLiteralExprSyntax.self) {
      guard let value = string.representedLiteralValue else { return nil }
      text = value.contains("\n") ? StringLiteralExprSyntax(content: value).description : string.trimmedDescription
      type = "String"
    } else if let sign = expression.as(PrefixOperatorExprSyntax.self) {
      guard ["-", "+"].contains(sign.operator.text), let number = Literal(sign.expression),
        number.type == "Int" || number.type == "Double"
      else { return nil }
      text = expression.trimmedDescription
      type = number.type
    } else {
      text = expression.trimmedDescription
      switch expression.kind {
      case .integerLiteralExpr: type = "Int"
      case .floatLiteralExpr: type = "Double"
      case .booleanLiteralExpr: type = "Bool"
      default: return nil
      }
    }
  }
}
