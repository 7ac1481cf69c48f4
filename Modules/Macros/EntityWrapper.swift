/// Makes an enum or a structure an ``CoherenceIdentityMap/EntityWrapper``: finds the entities in the associated values of
/// its cases, or in its stored variables.
///
/// ```swift
/// @EntityWrapper enum Media {
///   case book(Book)
///   case games([Game])
///   case link(URL)
/// }
/// ```
///
/// For each associated value it makes a private property that reads and writes it while the value is of that case. Cases
/// that differ by their labels only are refused: patterns cannot tell them apart.
@attached(
  extension, conformances: EntityWrapper, names: named(wrappedEntitiesKeyPaths), named(checkNestedPlaces), arbitrary)
public macro EntityWrapper() = #externalMacro(module: "CoherenceMacrosPlugin", type: "EntityWrapperMacro")
