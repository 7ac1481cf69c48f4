import SwiftSyntax

extension StoredProperty {
  /// The expression that makes the property's key.
  ///
  /// - Parameter className: The class with the property. The keys are members of a structure, where `Self` is the
  ///   structure.
  func key(in className: String) -> String {
    let text = type.trimmedDescription
    switch kind {
    case .attribute where needsResolution: return "\(resolvedType).key"
    case .attribute: return "CoherenceCore.AttributeKey<\(text)>(\"\(name)\")"
    case .codable:
      let needsDefault = modelDefault != nil && !shape.isOptional && !shape.isCollection
      let value = needsDefault ? initialValue?.text(in: className) : nil
      return "CoherenceCore.CodableKey<\(text)>(\"\(name)\"\(value.map { ", default: \($0)" } ?? ""))"
    case .composite: return "CoherenceCore.CompositeKey<\(text)>(\"\(name)\")"
    case .toOne: return "CoherenceCore.ToOneKey<\(destination)>(\"\(name)\")"
    case .toMany: return "CoherenceCore.ToManyKey<\(destination)>(\"\(name)\")"
    case .orderedToMany: return "CoherenceCore.OrderedToManyKey<\(destination)>(\"\(name)\")"
    }
  }

  /// The expression that declares the property in the model.
  var modelDeclaration: String {
    switch kind {
    case .attribute where needsResolution: resolvedDeclaration
    case .attribute: attributeDeclaration
    case .codable: codableDeclaration
    case .composite: compositeDeclaration
    case .toOne, .toMany, .orderedToMany: relationshipDeclaration
    }
  }

  private var attributeDeclaration: String {
    let options = options
    let transformer = options["transformable"]?.arguments.first?.trimmedDescription
    let attributeType = transformer.map { ".transformable(\($0))" } ?? "\(shape.text).attributeType"
    let arguments = [
      shape.isOptional ? "optional: true" : nil,
      modelDefault.map { "default: \($0)" },
      options["derived"]?.arguments.first.map { "derived: \($0.trimmedDescription)" },
      options.validation(of: shape.text).map { "validation: \($0)" },
    ]
    return call("Attribute", ["\"\(name)\"", attributeType] + arguments + passedArguments)
  }

  /// The declaration of a property whose kind the compiler decides.
  private var resolvedDeclaration: String {
    let key = "Properties.table.\(identifier)"
    if mayBeRelationship {
      return "CoherenceModelMacros.PropertyResolution.declaration(of: \(key))"
    }
    let options = options
    let arguments = [
      "of: \(key)",
      shape.isOptional ? "optional: true" : nil,
      modelDefault.map { "default: \($0)" },
      options.validation(of: shape.text).map { "validation: \($0)" },
    ]
    return "CoherenceModelMacros.PropertyResolution.attribute(\(list(arguments + passedArguments)))"
  }

  private var codableDeclaration: String {
    let arguments = [
      "\"\(name)\"", "codable: \(typeValue)", modelDefault.map { "default: \($0)" },
      options.validation(of: "String").map { "validation: \($0)" },
    ]
    return call("Attribute", arguments + passedArguments)
  }

  private var compositeDeclaration: String {
    call(
      "CompositeAttribute",
      [
        "\"\(name)\"", "of: \(typeValue)", modelDefault.map { "default: \($0)" },
        options.argument("formerNames").map { "formerNames: \($0)" },
      ])
  }

  private var relationshipDeclaration: String {
    let marker = declaration.marker("Relationship")
    let isToMany = kind != .toOne
    let inverse = marker?.argument("inverse").map { $0.propertyName.map { "\"\($0)\"" } ?? $0.trimmedDescription }
    let passed = ["minimumCount", "maximumCount", "deleteRule", "formerNames", "userInfo"].map { label in
      marker?.argument(label).map { "\(label): \($0.trimmedDescription)" }
    }
    let isRequired = marker?.argument("required").map { $0.trimmedDescription == "true" } ?? false
    let arguments = [
      "\"\(name)\"", "\(isToMany ? "toMany" : "toOne"): \(destination).entityName",
      inverse.map { "inverse: \($0)" },
      kind == .orderedToMany ? "ordered: true" : nil,
      isRequired ? "optional: false" : nil,
    ]
    return call("Relationship", arguments + passed)
  }

  /// The type as an expression. An array or a dictionary type needs no parentheses.
  private var typeValue: String { "\(type.trimmedDescription).self" }

  /// The arguments of `@Attribute` that its declaration in the model has too.
  private var passedArguments: [String?] {
    let options = options
    return ["formerNames", "converting", "userInfo"].map { label in
      options.argument(label).map { "\(label): \($0)" }
    }
  }

  private func call(_ function: String, _ arguments: [String?]) -> String {
    "CoherenceCore.\(function)(\(list(arguments)))"
  }

  private func list(_ arguments: [String?]) -> String { arguments.compactMap { $0 }.joined(separator: ", ") }
}
