import SwiftSyntax

/// The form of a type, as far as its text shows.
struct TypeShape {
  /// The type without a `?` or `!` at its end or an `Optional` around it, and without parentheses around the rest.
  let wrapped: TypeSyntax
  /// Whether ``wrapped`` leaves an optional out. An optional inside of parentheses, `(Album?)`, stays.
  let isOptional: Bool
  /// Whether the type is written with an exclamation mark.
  let isImplicitlyUnwrapped: Bool

  init(_ type: TypeSyntax) {
    let type = type.trimmed
    if let optional = type.as(OptionalTypeSyntax.self) {
      self.init(wrapped: optional.wrappedType, isOptional: true)
    } else if let unwrapped = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
      self.init(wrapped: unwrapped.wrappedType, isOptional: true, isImplicitlyUnwrapped: true)
    } else if let (name, arguments) = type.nominal, name == "Optional", arguments.count == 1 {
      self.init(wrapped: arguments[0], isOptional: true)
    } else {
      self.init(wrapped: type, isOptional: false)
    }
  }

  private init(wrapped: TypeSyntax, isOptional: Bool, isImplicitlyUnwrapped: Bool = false) {
    self.wrapped = wrapped.withoutParentheses
    self.isOptional = isOptional
    self.isImplicitlyUnwrapped = isImplicitlyUnwrapped
  }

  var text: String { wrapped.trimmedDescription }

  /// The element type of an array, a set or a list of members; `nil` for other types.
  var element: (collection: String, type: TypeSyntax)? {
    if let array = wrapped.as(ArrayTypeSyntax.self) { return ("Array", array.element) }
    guard let (name, arguments) = wrapped.nominal, arguments.count == 1,
      ["Array", "Set", "ToMany", "OrderedToMany"].contains(name)
    else { return nil }
    return (name, arguments[0])
  }

  /// Whether the text shows that the type is an attribute's: a type of the standard library or of Foundation.
  var isStandard: Bool { wrapped.nominal.map { Self.standard.contains($0.name) } ?? false }

  private static let standard: Set<String> = [
    "Bool", "Data", "Date", "Decimal", "Double", "Duration", "Float", "Int", "Int16", "Int32", "Int64", "String",
    "UUID",
    "URL",
  ]

  /// Whether the type is an array, a set or a dictionary, which are no types of attributes.
  var isCollection: Bool {
    if wrapped.is(DictionaryTypeSyntax.self) || wrapped.is(ArrayTypeSyntax.self) { return true }
    return ["Array", "Set", "Dictionary"].contains(wrapped.nominal?.name)
  }
}

extension TypeSyntax {
  /// The last name of a named type, with its generic arguments; `nil` for other types.
  var nominal: (name: String, arguments: [TypeSyntax])? {
    if let identifier = self.as(IdentifierTypeSyntax.self) {
      return (identifier.name.text, identifier.genericArgumentClause.types)
    }
    if let member = self.as(MemberTypeSyntax.self) { return (member.name.text, member.genericArgumentClause.types) }
    return nil
  }

  /// The type inside of parentheses around a single type.
  var withoutParentheses: TypeSyntax {
    guard let tuple = self.as(TupleTypeSyntax.self), tuple.elements.count == 1, let only = tuple.elements.first,
      only.firstName == nil
    else { return self.trimmed }
    return only.type.withoutParentheses
  }
}

extension GenericArgumentClauseSyntax? {
  fileprivate var types: [TypeSyntax] {
    guard let self else { return [] }
    return self.arguments.compactMap { argument in
      if case .type(let type) = argument.argument { return type.trimmed }
      return nil
    }
  }
}
