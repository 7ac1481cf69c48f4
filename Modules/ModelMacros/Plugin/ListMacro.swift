import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// A list of properties in the body of a class, which `@Entity` reads. The expansion is empty.
struct ListMacro: DeclarationMacro {
  static func expansion(
    of node: some FreestandingMacroExpansionSyntax, in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    let name = node.macroName.text
    guard let type = context.lexicalContext.first?.as(ClassDeclSyntax.self), type.isEntity else {
      throw Problem("listOutsideOfEntity", "'#\(name)' stands in the body of a class with '@Entity', which reads it.")
        .error(at: node)
    }
    if let argument = node.genericArgumentClause?.arguments.first?.argument.trimmedDescription,
      argument != type.name.text, argument != "Self"
    {
      throw Problem("listOfOtherClass", "'#\(name)' lists properties of '\(type.name.text)', the class around it.")
        .error(at: node)
    }
    return []
  }
}
