import SwiftSyntax

/// An instance property whose type may contain entities.
struct Property {
  /// The raw value is the name of the overloads of `NestedPlaces` that check the kind.
  enum Kind: String {
    case variable, constant, computed
  }

  let name: String
  let kind: Kind

  /// The calls that check at compile time whether the property has entities that the macro cannot follow.
  var check: String {
    """
    let \(name) = CoherenceMacros.NestedPlaces<Self>.\(kind.rawValue)(\\.\(name))
    \(name).check()
    """
  }
}

/// The properties of a type that the macros follow or check.
struct PropertyList {
  private(set) var properties: [Property] = []
  /// The declarations that the macros cannot follow.
  private(set) var problems: [(MacroProblem, Syntax)] = []

  /// The properties that the macros follow; constants and computed properties are only checked.
  var variables: [Property] { properties.filter { $0.kind == .variable } }

  init(of members: MemberBlockItemListSyntax) {
    for member in members {
      if let variable = member.decl.as(VariableDeclSyntax.self) { add(variable) }
      if let condition = member.decl.as(IfConfigDeclSyntax.self) { reportVariables(in: condition) }
    }
  }

  /// Adds the properties of a declaration, or the reason why the macros cannot follow them.
  private mutating func add(_ declaration: VariableDeclSyntax) {
    let modifiers = declaration.modifiers.map(\.name.text)
    guard !declaration.isNotNested, !modifiers.contains("static"), !modifiers.contains("class") else { return }
    if modifiers.contains("lazy") { return problems.append((.lazyProperty, Syntax(declaration))) }
    for binding in declaration.bindings {
      guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text else {
        problems.append((.severalNames, Syntax(binding.pattern)))
        continue
      }
      guard !binding.isPlain, let kind = kind(of: binding, in: declaration) else { continue }
      properties.append(Property(name: name, kind: kind))
    }
  }

  /// The access to a property; `nil` for a read-only computed property.
  private func kind(of binding: PatternBindingSyntax, in declaration: VariableDeclSyntax) -> Property.Kind? {
    if declaration.bindingSpecifier.tokenKind == .keyword(.let) { return .constant }
    switch binding.accessorBlock?.accessors {
    case nil: return .variable
    case .getter: return nil
    case .accessors(let accessors):
      let names = Set(accessors.map(\.accessorSpecifier.text))
      if names.isDisjoint(with: ["get", "_read", "unsafeAddress"]) { return .variable }
      return names.isDisjoint(with: ["set", "_modify"]) ? nil : .computed
    }
  }

  /// Adds a problem for each declaration of stored variables inside of `#if` whose types may contain entities, because
  /// the macro cannot know which clause is compiled.
  private mutating func reportVariables(in condition: IfConfigDeclSyntax) {
    for clause in condition.clauses {
      guard case .decls(let members) = clause.elements else { continue }
      let inner = PropertyList(of: members)
      problems += inner.problems
      for member in members {
        guard let variable = member.decl.as(VariableDeclSyntax.self), !PropertyList(of: [member]).variables.isEmpty
        else { continue }
        problems.append((.conditionalProperty, Syntax(variable)))
      }
    }
  }
}

extension PatternBindingSyntax {
  /// Whether the declared type is one of the ``plainTypes``, or the optional of one.
  fileprivate var isPlain: Bool {
    guard let type = typeAnnotation?.type.trimmedDescription else { return false }
    return plainTypes.contains(type.hasSuffix("?") ? String(type.dropLast()) : type)
  }
}

/// Frequent types without entities. Expansions skip variables of these types, so that they stay short.
let plainTypes: Set<String> = [
  "Bool", "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64", "Float", "Double",
  "String", "Character",
]
