import SwiftSyntax

extension DeclGroupSyntax {
  /// The access modifier that gives members the visibility of their type, with a trailing space; empty for internal and
  /// private types.
  var memberAccess: String {
    let levels = Set(modifiers.map(\.name.text))
    return ["public", "open", "package"].first { levels.contains($0) }.map { $0 == "open" ? "public " : "\($0) " } ?? ""
  }

  /// The generated function, never called, in which the compiler checks the key paths; `nil` without properties.
  func checkFunction(for properties: [Property]) -> String? {
    guard !properties.isEmpty else { return nil }
    return """
      private nonisolated static func checkNestedPlaces() {
      \(properties.map(\.check).joined(separator: "\n"))
      }
      """
  }

  /// The declared function or variable with a name; `nil` for none.
  func member(named name: String) -> Syntax? {
    for member in memberBlock.members {
      if let function = member.decl.as(FunctionDeclSyntax.self), function.name.text == name { return Syntax(function) }
      guard let variable = member.decl.as(VariableDeclSyntax.self) else { continue }
      let names = variable.bindings.compactMap { $0.pattern.as(IdentifierPatternSyntax.self)?.identifier.text }
      if names.contains(name) { return Syntax(variable) }
    }
    return nil
  }
}
