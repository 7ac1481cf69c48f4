/// Declares indexes in the body of an entity's class: `#Index<Track>([\.title], [\.album, \.number])`.
///
/// - Parameter lists: Attributes and to-one relationships that stores keep an index for, a list for each index.
@freestanding(declaration)
public macro Index<Root: ManagedObject>(_ lists: [PartialKeyPath<Root>]...) =
  #externalMacro(module: "CoherenceModelMacrosPlugin", type: "ListMacro")

/// Declares uniqueness constraints in the body of an entity's class: `#Unique<Track>([\.album, \.number])`.
///
/// - Parameter lists: Attributes and to-one relationships whose values together are unique in a store, a list for each
///   constraint. Records with a missing value in the list are not compared.
@freestanding(declaration)
public macro Unique<Root: ManagedObject>(_ lists: [PartialKeyPath<Root>]...) =
  #externalMacro(module: "CoherenceModelMacrosPlugin", type: "ListMacro")
