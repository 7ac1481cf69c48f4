/// Makes a structure an ``CoherenceIdentityMap/Aggregate``: finds the entities in its stored variables.
///
/// ```swift
/// @Aggregate struct Post: Identifiable {
///   let id: Int
///   var text: String
///   var author: Author        // an entity
///   var replyTo: Author?      // perhaps one
///   var comments: [Comment]   // many
///   var media: Media          // the entities in the cases of an enum, see `EntityWrapper()`
/// }
/// ```
///
/// The macro finds entities by the types of variables:
/// - an entity, a collection or a set of entities, a wrapper, or a collection of wrappers
/// - a dictionary with entities, or with collections of entities, as values
/// - a list of optionals of entities, or a list of lists of entities
/// - the optional of one of these
///
/// Properties with entities that the macro cannot follow do not compile:
/// - a constant (`let`) with an entity, a wrapper, or a collection of these, with an optional of these, with a dictionary of
///   entities or of collections of entities, or with a list of lists or of optionals of entities
/// - a computed property with a setter and one of these types
/// - a variable with a collection of entities without replaceable elements, or with an optional of such a collection
///
/// Mark such a property with ``NotNested()``, so that it stays as it was stored, or implement `nestedEntitiesKeyPaths`
/// yourself instead of using the macro. In other types, such as a dictionary with entities as keys, neither the
/// macro nor the compiler finds the entities: the property compiles, and is not followed.
@attached(
  extension, conformances: Aggregate, names: named(nestedEntitiesKeyPaths), named(nestedPlaces),
  named(checkNestedPlaces))
public macro Aggregate() = #externalMacro(module: "CoherenceMacrosPlugin", type: "AggregateMacro")
