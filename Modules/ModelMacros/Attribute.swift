/// Describes an attribute of an entity.
///
/// ```swift
/// @Attribute(.unique, .length(12...12), formerNames: ["code"]) var isrc: String
/// ```
///
/// - Parameters:
///   - options: The options, written out at this place, because the macro reads their text.
///   - formerNames: The names that the property had in earlier models, the latest first.
///   - conversion: Converts stored values of another type when a store is opened; `nil` for the conversion of numbers
///     alone.
///   - userInfo: Texts of the application by key. Composites have none.
@attached(peer)
public macro Attribute(
  _ options: AttributeOption..., formerNames: [String] = [], converting conversion: ValueConversion? = nil,
  userInfo: [String: String] = [:]
) = #externalMacro(module: "CoherenceModelMacrosPlugin", type: "MarkerMacro")
