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
/// The macro finds entities by the types of values and variables, as ``Aggregate()`` does.
///
/// For each associated value the macro generates a private property that reads and writes the value in its case. Values
/// of the plain types of the standard library, such as `Int` and `String`, and cases marked with ``NotNested()`` get
/// none. The macro refuses several cases of one name with such values, because patterns cannot distinguish the cases.
/// It also refuses cases with such values inside of `#if`, because it cannot know which clause is compiled.
@attached(
  extension, conformances: EntityWrapper, names: named(wrappedEntitiesKeyPaths), named(checkNestedPlaces), arbitrary)
public macro EntityWrapper() = #externalMacro(module: "CoherenceMacrosPlugin", type: "EntityWrapperMacro")
