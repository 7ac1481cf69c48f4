import SwiftSyntax

/// An associated value of an enum case.
struct AssociatedValue {
  /// The name of the case.
  private let name: String
  private let parameters: [EnumCaseParameterSyntax]
  /// The index of the parameter.
  private let index: Int

  /// The associated values of a case whose types may contain entities.
  static func all(of element: EnumCaseElementSyntax) -> [AssociatedValue] {
    let parameters = element.parameterClause.map { Array($0.parameters) } ?? []
    return parameters.indices
      .map { AssociatedValue(name: element.name.text, parameters: parameters, index: $0) }
      .filter { !plainTypes.contains($0.type) }
  }

  private var type: String { parameters[index].type.trimmedDescription }

  /// Whether the type is an optional. The type of a function with an optional result, `() -> Book?`, is none.
  private var isOptional: Bool { parameters[index].type.is(OptionalTypeSyntax.self) || type.hasPrefix("Optional<") }

  /// The name of the property for the value.
  var property: String {
    "\(name.filter { $0 != "`" })Value\(parameters.count > 1 ? "\(index)" : "")"
  }

  /// The generated property for the value, by which a key path reaches the value. The property is `nil` in other cases.
  /// Writing it in another case has no effect, and neither has writing `nil` for a value that is no optional.
  var declaration: String {
    """
    private nonisolated var \(property): \(isOptional ? type : "Optional<\(type)>") {
    get {
    if case .\(name)(\(arguments { $0 == index ? "let value" : "_" })) = self { value } else { nil }
    }
    set {
    \(setter)
    }
    }
    """
  }

  /// The statement that replaces the value and keeps the other values of the case.
  private var setter: String {
    let written = ".\(name)(\(arguments { $0 == index ? "newValue" : "value\($0)" }))"
    let isAlone = parameters.count == 1
    let pattern = isAlone ? "" : "(\(arguments { $0 == index ? "_" : "let value\($0)" }))"
    let unwrapping = isOptional ? "" : ", let newValue"
    return "if case .\(name)\(pattern) = self\(unwrapping) { self = \(written) }"
  }

  /// The arguments of the case, with their labels.
  private func arguments(_ value: (Int) -> String) -> String {
    parameters.indices.map { index in
      let label = parameters[index].firstName.map(\.text) ?? "_"
      return label == "_" ? value(index) : "\(label): \(value(index))"
    }
    .joined(separator: ", ")
  }
}
