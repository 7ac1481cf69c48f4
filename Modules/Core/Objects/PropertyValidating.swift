/// A class of objects with coded validation rules for single properties.
///
/// A save calls the rule once for each value to save: for each attribute and to-one relationship of an inserted object,
/// and for each changed property of a changed object. A save calls the rules again for an object that the validation hook
/// of another object has changed. A failure has the name of its property. A class without the
/// conformance costs nothing.
///
/// ```swift
/// final class Account: ManagedObject, PropertyValidating {
///   func validate(_ value: AttributeValue, for property: PropertyDescription) throws {
///     if property.name == "owner", value == .string("nobody") { throw AccountError.ownerMissing }
///   }
/// }
/// ```
public protocol PropertyValidating: ManagedObject {
  /// Checks a value of a property. Called in the context, after the model's own rules and before
  /// ``ManagedObject/validateForInsert()`` and ``ManagedObject/validateForUpdate()``. User interfaces may call it for a
  /// value before its assignment.
  ///
  /// - Parameters:
  ///   - value: The value in its stored form; null for no value, the identifier of the target for a relationship.
  ///   - property: An attribute, a part of a composite, or a to-one relationship.
  /// - Throws: Anything; a save fails with ``ErrorCode/validationFailed``, which has the text of the error and the name
  ///   of the property.
  func validate(_ value: AttributeValue, for property: PropertyDescription) throws
}
