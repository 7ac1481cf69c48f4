import SwiftSyntax

/// A property of an instance that may hold entities.
struct Property {
  enum Kind: String {
    case variable, constant, computed
  }

  let name: String
  let kind: Kind

  /// The calls that find out at compile time whether the property holds entities where they cannot be followed.
  var check: String {
    """
    let \(name) = CoherenceMacros.NestedPlaces<Self>.\(kind.rawValue)(\\.\(name))
    \(name).check()
    """
  }
}

/// What there is to be known of the properties of a type.
struct PropertyList {
  private(set) var properties: [Property] = []
  private(set) var problems: [(MacroProblem, Syntax)] = []

  var variables: [Property] { properties.filter { $0.kind == .variable } }

  init(of members: MemberBlockItemListSyntax) {
    for member in members {
      if let variable = member.decl.as(VariableDeclSyntax.self) { add(variable) }
      if let condition = member.decl.as(IfConfigDeclSyntax.self) { lookForVariables(in: condition) }
    }
  }

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

  /// How a property can be read and written; `nil` when it can only be computed.
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

  private mutating func lookForVariables(in condition: IfConfigDeclSyntax) {
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
  /// Whether the type is written out and one of the language's own that can hold no entities.
  fileprivate var isPlain: Bool {
    guard let type = typeAnnotation?.type.trimmedDescription else { return false }
    return plainTypes.contains(type.hasSuffix("?") ? String(type.dropLast()) : type)
  }
}

/// Types that need not be looked at, so that expansions stay short.
let plainTypes: Set<String> = [
  "Bool", "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64", "Float", "Double",
  "String", "Character",
]
