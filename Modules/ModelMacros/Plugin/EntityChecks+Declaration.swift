import SwiftDiagnostics
import SwiftSyntax

/// The checks of the initialisers, the inherited types and the attributes of an entity's class.
extension EntityChecks {
  /// The problems that do not prevent the expansion.
  var declarationProblems: [Diagnostic] {
    entity.designatedInitializers.map(initializerProblem) + codingProblems + [isolationProblem].compactMap { $0 }
  }

  private func initializerProblem(_ initializer: InitializerDeclSyntax) -> Diagnostic {
    var changed = initializer
    let leading = initializer.leadingTrivia
    changed.leadingTrivia = []
    var modifier = DeclModifierSyntax(name: .keyword(.convenience, trailingTrivia: .space))
    modifier.leadingTrivia = leading
    let others = changed.modifiers.filter { !["override", "required"].contains($0.name.text) }
    changed.modifiers = [modifier] + others
    return Problem(
      "initializer",
      "An object of '\(entity.name)' begins with 'init(context:)', which inserts it into a context; declare this "
        + "initialiser as 'convenience' and 'throws', with a parameter of type 'ManagedObjectContext' for "
        + "'try self.init(context: context)'."
    ).diagnostic(
      at: initializer.initKeyword, fixes: [.replacing(initializer, by: changed, "declare it as 'convenience'")])
  }

  /// Protocols whose requirements the compiler would write without the properties of the model.
  private var codingProblems: [Diagnostic] {
    guard let clause = entity.declaration.inheritanceClause else { return [] }
    let members = entity.declaration.memberBlock.members
    let encodes = members.contains { $0.decl.as(FunctionDeclSyntax.self)?.name.text == "encode" }
    let decodes = members.contains { $0.decl.as(InitializerDeclSyntax.self)?.isDecoding == true }
    // The compiler itself refuses 'Codable' without an initialiser, but would encode no property.
    let isHandwritten = ["Codable": encodes, "Encodable": encodes, "Decodable": decodes]
    return clause.inheritedTypes.compactMap { inherited in
      guard let name = inherited.type.nominal?.name, isHandwritten[name] == false else { return nil }
      return Problem(
        "coding",
        "An object belongs to a context and is not '\(name)'; its values are: encode 'snapshot()', and insert a decoded "
          + "'\(entity.name).Snapshot' into a context."
      ).diagnostic(at: inherited.type)
    }
  }

  /// The problem of a class that is isolated to an actor.
  private var isolationProblem: Diagnostic? {
    guard let actor = entity.declaration.actor else { return nil }
    var changed = entity.declaration
    changed.attributes = entity.declaration.attributes.filter { $0.as(AttributeSyntax.self)?.id != actor.id }
    // The comment of the class and its line break stand before the first attribute, which may be the removed one.
    changed.leadingTrivia = entity.declaration.leadingTrivia
    return Problem(
      "isolatedClass",
      "The objects of '\(entity.name)' live where their context runs, so that the class belongs to no actor; remove "
        + "'\(actor.trimmedName)'."
    ).diagnostic(
      at: actor, fixes: [.replacing(entity.declaration, by: changed, "remove '\(actor.trimmedName)'")])
  }
}

extension EntityClass {
  /// The designated initialisers of the class, except `init(_ birth: ObjectBirth)`.
  var designatedInitializers: [InitializerDeclSyntax] {
    declaration.memberBlock.members.compactMap { member in
      guard let initializer = member.decl.as(InitializerDeclSyntax.self), !initializer.isOfFramework,
        !initializer.modifiers.contains(where: { $0.name.text == "convenience" })
      else { return nil }
      return initializer
    }
  }

  /// Whether a mistake in the class keeps it from inheriting the initialiser of the framework.
  var hidesInitializer: Bool {
    let members = declaration.memberBlock.members
    guard !members.contains(where: { $0.decl.as(InitializerDeclSyntax.self)?.isOfFramework == true }) else {
      return false
    }
    return !designatedInitializers.isEmpty
      || members.contains { $0.decl.as(VariableDeclSyntax.self)?.isConstantWithoutValue == true }
  }
}

extension InitializerDeclSyntax {
  /// Whether the initialiser is `required init(_ birth: borrowing ObjectBirth)`.
  fileprivate var isOfFramework: Bool {
    let parameters = signature.parameterClause.parameters
    guard parameters.count == 1, let type = parameters.first?.type else { return false }
    // The type without `borrowing`.
    return (type.as(AttributedTypeSyntax.self)?.baseType ?? type).nominal?.name == "ObjectBirth"
  }

  /// Whether the initialiser is `init(from:)` of `Decodable`.
  fileprivate var isDecoding: Bool {
    let parameters = signature.parameterClause.parameters
    return parameters.count == 1 && parameters.first?.firstName.text == "from"
  }
}

extension VariableDeclSyntax {
  /// Whether the declaration is a constant without a value.
  fileprivate var isConstantWithoutValue: Bool {
    bindingSpecifier.tokenKind == .keyword(.let) && bindings.contains { $0.initializer == nil }
      && !modifiers.contains { ["static", "class"].contains($0.name.text) }
  }
}
