/// Makes a structure an ``CoherenceIdentityMap/Aggregate``: finds the entities in its stored variables.
///
/// ```swift
/// @Aggregate struct Post: Identifiable {
///   let id: Int
///   var text: String
///   var author: Author        // an entity
///   var replyTo: Author?      // perhaps one
///   var comments: [Comment]   // many
///   var media: Media          // whatever is in the cases of an enum, see `EntityWrapper()`
/// }
/// ```
///
/// Which variables hold entities is known by their types: entities, optionals of them, collections, sets and
/// dictionaries of them, lists of lists, wrappers, and optionals and collections of wrappers. The others are left alone.
/// What cannot be followed does not compile: an entity in a constant (`let`), in a computed property with a setter, or in
/// a collection of which single elements cannot be changed. Mark it with ``NotNested()`` to say that it stays as it was
/// stored, or write `nestedEntitiesKeyPaths` by hand instead of this.
@attached(
  extension, conformances: Aggregate, names: named(nestedEntitiesKeyPaths), named(nestedPlaces),
  named(checkNestedPlaces))
public macro Aggregate() = #externalMacro(module: "CoherenceMacrosPlugin", type: "AggregateMacro")
