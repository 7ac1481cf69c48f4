import SwiftSyntax

extension EntityClass {
  /// The hooks that a delete calls.
  private static let deletionHooks = ["prepareForDeletion", "validateForDelete", "didSave"]

  /// The attributes of classes that add no members which override a method.
  private static let plainAttributes: Set<String> = [
    "Entity", "Subentity", "MainActor", "available", "dynamicMemberLookup", "preconcurrency", "usableFromInline",
  ]

  /// The hooks of deletes that the class overrides, as an array literal; `nil` when other macros may write overrides
  /// that this macro cannot see.
  var overriddenDeletionHooks: String? {
    let attributes = declaration.attributes.map { $0.as(AttributeSyntax.self)?.attributeName.nominal?.name ?? "" }
    guard attributes.allSatisfy(Self.plainAttributes.contains) else { return nil }
    let members = Self.flattened(declaration.memberBlock.members)
    let calls = members.compactMap { $0.as(MacroExpansionDeclSyntax.self)?.macroName.text }
    guard calls.allSatisfy({ ["Index", "Unique"].contains($0) }) else { return nil }
    let functions = Set(members.compactMap { $0.as(FunctionDeclSyntax.self)?.name.text })
    return "[\(Self.deletionHooks.filter(functions.contains).map { ".\($0)" }.joined(separator: ", "))]"
  }

  /// Whether the class declares its hooks by itself.
  var declaresDeletionHooks: Bool {
    Self.flattened(declaration.memberBlock.members).contains { member in
      member.as(VariableDeclSyntax.self)?.bindings
        .contains { $0.pattern.trimmedDescription == "deletionHooks" } == true
    }
  }

  /// The members, those of all branches of `#if` among them.
  private static func flattened(_ members: MemberBlockItemListSyntax) -> [DeclSyntax] {
    members.flatMap { member -> [DeclSyntax] in
      guard let condition = member.decl.as(IfConfigDeclSyntax.self) else { return [member.decl] }
      return condition.clauses.flatMap { clause -> [DeclSyntax] in
        guard case .decls(let members) = clause.elements else { return [] }
        return flattened(members)
      }
    }
  }
}
