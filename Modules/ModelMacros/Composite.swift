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
/// parts. The macro writes the table `Parts`, in which typed expressions such as `$0.size.width` look a part up; a
/// private part has no key in it.
///
/// The initial value of a part is the part's default in the model, in new objects and in records without the part. It
/// is evaluated once for the model; the current date, a new `UUID` and a random value are compile-time errors. The
/// parts of an optional composite have no default in the model, so that the composite of a new object is `nil`.
@attached(
  extension, conformances: CompositeValue, names: named(Parts), named(compositeParts), named(init(reading:)),
  named(write(to:)))
public macro Composite() = #externalMacro(module: "CoherenceModelMacrosPlugin", type: "CompositeMacro")
