extension Attribute {
  /// Declares a `codable` attribute by its Swift type. An attribute of an optional type is optional.
  ///
  /// - Parameter defaultValue: The value of a new object, and of existing records when the attribute is added to a
  ///   store. An unencodable value makes the model invalid.
  public init<Value: Codable>(
    _ name: String, codable type: Value.Type, default defaultValue: Value? = nil, validation: [ValidationRule] = [],
    renamingIdentifier: String? = nil, formerNames: [String] = [], converting conversion: ValueConversion? = nil,
    userInfo: [String: String] = [:]
  ) {
    self.init(
      name, .codable, optional: Value.self is any ExpressibleByNilLiteral.Type, validation: validation,
      renamingIdentifier: renamingIdentifier, formerNames: formerNames, converting: conversion, userInfo: userInfo)
    guard let defaultValue else { return }
    // A number is no text, so that the validation of the model reports the default.
    self.defaultValue = (try? JSONText.attributeValue(of: defaultValue)) ?? .double(.nan)
  }
}
