/// Makes a structure the value of composite attributes: each stored property is a part with an attribute of its own.
///
/// ```swift
/// @Composite struct Size: Sendable, Equatable {
///   var width: Double
///   var height: Double?
/// }
/// ```
///
/// The type of a part is convertible to an attribute, or a composite itself. Computed and static variables are no
/// parts.
@attached(
  extension, conformances: CompositeValue, names: named(compositeParts), named(init(reading:)), named(write(to:)))
public macro Composite() = #externalMacro(module: "CoherenceModelMacrosPlugin", type: "CompositeMacro")
