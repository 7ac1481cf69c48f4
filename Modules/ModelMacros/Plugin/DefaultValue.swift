import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder

/// The initial value of a variable.
struct DefaultValue {
  let expression: ExprSyntax

  /// The value as a ``Literal``; `nil` for any other value.
  private var literal: Literal? { Literal(expression) }

  /// Whether the value is `nil` or a ``Literal``, so that its text means the same at every place of the source.
  var isLiteral: Bool { isNil || literal != nil }

  /// Returns the value as source text that means the same in a nested type: the name of the type around the variable
  /// replaces `Self`.
  ///
  /// - Parameter typeName: The name of the type around the variable.
  func text(in typeName: String) -> String {
    literal?.text ?? SelfRewriter(typeName).rewrite(expression).trimmedDescription
  }

  /// The type of the value, as far as its text shows; `nil` when the variable needs an annotation, because a macro sees
  /// no types.
  var inferredType: TypeSyntax? {
    if let literal { return TypeSyntax(stringLiteral: literal.type) }
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
  /// value. The default of a composite's part is evaluated once for the model, so that all records would share it.
  ///
  /// - Parameter type: The type of the value, for a call of `.init` that does not name it.
  func isNondeterministic(_ type: TypeShape? = nil) -> Bool {
    if let member = expression.as(MemberAccessExprSyntax.self) {
      guard member.declName.baseName.text == "now" else { return false }
      // An enumeration may have a case of this name. The type of an argument is unknown.
      let base = member.base?.trimmedDescription.split(separator: ".").last.map(String.init)
      return [nil, "Date"].contains(base ?? type?.wrapped.nominal?.name)
    }
    guard let call = expression.as(FunctionCallExprSyntax.self) else { return false }
    let names = call.calledExpression.trimmedDescription.split(separator: ".").map(String.init)
    if names.last == "random" { return true }
    let name = names.last == "init" ? names.dropLast().last ?? type?.wrapped.nominal?.name : names.last
    if call.arguments.isEmpty, ["Date", "UUID"].contains(name) { return true }
    return call.arguments.contains { DefaultValue(expression: $0.expression.trimmed).isNondeterministic() }
  }

  /// Whether the value is the literal `nil`, which declares no default: an optional property without one begins with
  /// `nil` too.
  var isNil: Bool { expression.is(NilLiteralExprSyntax.self) }

  /// Returns the value as the source text of a default that the model may evaluate once: a literal, or a named value of
  /// the type, such as an enum case; `nil` for a value that is evaluated for each new object.
  ///
  /// - Parameter type: The type of the variable.
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
  /// The source text in one line: the expansion has another indentation, which a literal of several lines depends on.
  let text: String
  /// The name of the type that the compiler infers.
  let type: String

  init?(_ expression: ExprSyntax) {
    if let string = expression.as(StringLiteralExprSyntax.self) {
      guard let value = string.representedLiteralValue else { return nil }
      let source = string.trimmedDescription
      // Also a text of one line can have a literal of several lines.
      text = source.contains(where: \.isNewline) ? StringLiteralExprSyntax(content: value).description : source
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
