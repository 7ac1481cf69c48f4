extension ModelFile {
  /// The parts of a composite attribute: its own, or those of the composite type that it names; `nil` for other
  /// kinds of attributes, and for an unknown type.
  public func parts(of attribute: Attribute) -> [Attribute]? {
    guard attribute.kind == .composite else { return nil }
    return attribute.parts.isEmpty ? compositeType(of: attribute)?.parts : attribute.parts
  }

  /// The composite type of an attribute. Editors differ in the XML attribute that names the type, so any XML attribute
  /// with the name of a type counts. Without one, the type has the name of the attribute.
  package func compositeType(of attribute: Attribute) -> Composite? {
    guard attribute.parts.isEmpty else { return nil }
    if let name = attribute.compositeName { return composites.first { $0.name == name } }
    return composites.first { attribute.otherAttributes.values.contains($0.name) }
      ?? composites.first { $0.name.lowercased() == attribute.name.lowercased() }
  }
}
