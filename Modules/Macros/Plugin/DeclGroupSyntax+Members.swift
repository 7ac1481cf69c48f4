import SwiftSyntax

extension DeclGroupSyntax {
  /// The modifier that members need to be as visible as their type, with a space behind it; none when nothing is needed.
  var memberAccess: String {
    let levels = Set(modifiers.map(\.name.text))
    return ["public", "open", "package"].first { levels.contains($0) }.map { $0 == "open" ? "public " : "\($0) " } ?? ""
  }

  /// The function that nobody calls, in which the compiler looks at the places.
  func check(_ properties: [Property]) -> String? {
    guard !properties.isEmpty else { return nil }
    return """
      private nonisolated static func checkNestedPlaces() {
      \(properties.map(\.check).joined(separator: "\n"))
      }
      """
  }

  /// The member of a name, if it is declared here.
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
