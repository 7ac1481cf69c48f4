import SwiftSyntax

/// The arguments of `@Attribute`.
struct AttributeOptions {
  /// An option by its name, with its arguments: `.minimum(0)`.
  struct Option {
    let name: String
    let arguments: [ExprSyntax]
    let node: ExprSyntax
  }

  private(set) var options: [Option] = []
  /// The arguments in another form than `.name` and `.name(arguments)`.
  private(set) var unreadable: [ExprSyntax] = []
  private let labelled: [String: ExprSyntax]

  init(_ marker: AttributeSyntax?) {
    let arguments = marker?.argumentList ?? []
    labelled = Dictionary(
      arguments.compactMap { argument in argument.label.map { ($0.text, argument.expression.trimmed) } },
      uniquingKeysWith: { first, _ in first })
    for argument in arguments where argument.label == nil {
      if let option = Option(argument.expression) {
        options.append(option)
      } else {
        unreadable.append(argument.expression)
      }
    }
  }

  func contains(_ name: String) -> Bool { self[name] != nil }

  subscript(name: String) -> Option? { options.first { $0.name == name } }

  /// A labelled argument as text; `nil` if it is missing.
  func argument(_ label: String) -> String? { labelled[label]?.trimmedDescription }

  /// The rules that a save checks, for values of a type.
  func validation(of type: String) -> String? {
    let rules = options.flatMap { option -> [String] in
      guard let value = option.arguments.first?.trimmedDescription else { return [] }
      switch option.name {
      case "minimum", "maximum": return [".\(option.name)((\(value) as \(type)).attributeValue)"]
      case "minimumLength", "maximumLength", "pattern": return [".\(option.name)(\(value))"]
      case "length": return [".minimumLength((\(value)).lowerBound)", ".maximumLength((\(value)).upperBound)"]
      default: return []
      }
    }
    return rules.isEmpty ? nil : "[\(rules.joined(separator: ", "))]"
  }

  /// The options that change the values' type; at most one of them makes sense.
  static let kinds = ["codable", "composite", "transformable"]
}

extension AttributeOptions.Option {
  /// Reads `.name` and `.name(arguments)`, with or without the type in front.
  fileprivate init?(_ expression: ExprSyntax) {
    let call = expression.as(FunctionCallExprSyntax.self)
    guard let member = (call?.calledExpression ?? expression).as(MemberAccessExprSyntax.self) else { return nil }
    if let base = member.base, base.trimmedDescription.split(separator: ".").last != "AttributeOption" { return nil }
    name = member.declName.baseName.text
    arguments = call?.arguments.map(\.expression.trimmed) ?? []
    node = expression
  }
}

extension AttributeSyntax {
  /// The arguments in parentheses.
  var argumentList: LabeledExprListSyntax {
    if case .argumentList(let list) = arguments { return list }
    return []
  }

  /// The expression of a labelled argument; `nil` if it is missing.
  func argument(_ label: String) -> ExprSyntax? {
    argumentList.first { $0.label?.text == label }?.expression.trimmed
  }
}
