extension StoreEnvironment {
  /// The uniqueness constraints of an entity that its superentity does not have and that the store enforces: without
  /// the key's constraint under ``StoreOption/allowsDuplicateKeys``.
  package func ownConstraints(of entity: EntityDescription) -> [[PropertyDescription]] {
    let own = entity.uniquenessConstraints.dropFirst(entity.superentity?.uniquenessConstraints.count ?? 0)
    return Array(allowsDuplicateKeys && entity.keyConstraint != nil ? own.dropLast() : own)
  }
}
