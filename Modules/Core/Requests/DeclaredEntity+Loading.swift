extension DeclaredEntity {
  /// Loads the objects at the end of a path of relationships, such as `\.tracks.release`, with few reads for each
  /// relationship, and retains them for the unit of work.
  ///
  /// - Throws: The errors of loading.
  public func load<Target>(relationship path: KeyPath<RelationshipPath<Self>, RelationshipPath<Target>>) throws {
    try load(relationships: [RelationshipPath<Self>(names: [])[keyPath: path].names.joined(separator: ".")])
  }
}
