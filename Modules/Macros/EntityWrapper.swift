/// Makes an enum or a structure an ``CoherenceIdentityMap/EntityWrapper``: finds the entities in the associated values
/// of its cases, or in its stored variables.
///
/// ```swift
/// @EntityWrapper enum Media {
///   case book(Book)
///   case games([Game])
///   case link(URL)
/// }
/// ```
///
/// For each associated value the macro generates a private property that reads and writes the value in its case. The
/// macro refuses cases that differ only in their labels, because patterns cannot distinguish them.
@attached(
  extension, conformances: EntityWrapper, names: named(wrappedEntitiesKeyPaths), named(checkNestedPlaces), arbitrary)
public macro EntityWrapper() = #externalMacro(module: "CoherenceMacrosPlugin", type: "EntityWrapperMacro")
