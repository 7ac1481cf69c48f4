extension Attribute {
  /// Makes a declaration of a `codable` attribute from its Swift type. An attribute of an optional type is optional.
  ///
  /// - Parameter defaultValue: The value of a new object, and of existing records when the attribute is added to a
  ///   store. A value that does not encode is a fault of the model.
  public init<Value: Codable>(
    _ name: String, codable type: Value.Type, default defaultValue: Value? = nil, validation: [ValidationRule] = [],
    renamingIdentifier: String? = nil, formerNames: [String] = [], converting conversion: ValueConversion? = nil,
    userInfo: [String: String] = [:]
  ) {
    self.init(
      name, .codable, optional: Value.self is any ExpressibleByNilLiteral.Type, validation: validation,
      renamingIdentifier: renamingIdentifier, formerNames: formerNames, converting: conversion, userInfo: userInfo)
    guard let defaultValue else { return }
    // A number is no text, so that the model refuses the default.
    self.defaultValue = (try? JSONText.attributeValue(of: defaultValue)) ?? .double(.nan)
  }
}
