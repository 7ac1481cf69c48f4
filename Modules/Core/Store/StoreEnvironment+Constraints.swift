extension StoreEnvironment {
  /// Returns the enforced uniqueness constraints of an entity without the constraints of its superentity. Under
  /// ``StoreOption/allowsDuplicateKeys``, the key's constraint is not enforced.
  package func ownConstraints(of entity: EntityDescription) -> [[PropertyDescription]] {
    let own = entity.uniquenessConstraints.dropFirst(entity.superentity?.uniquenessConstraints.count ?? 0)
    return Array(allowsDuplicateKeys && entity.keyConstraint != nil ? own.dropLast() : own)
  }
}
