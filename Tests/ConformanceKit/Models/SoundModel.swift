import CoherenceCore

/// A model of the suite's own, which cannot be wrong but by a mistake in the suite.
func soundModel(configurations: [String: [String]] = [:], @EntitiesBuilder _ entities: () -> [Entity])
  -> ManagedObjectModel
{
  do {
    return try ManagedObjectModel(entities: entities(), configurations: configurations)
  } catch {
    preconditionFailure("A model of the conformance suite is wrong: \(error)")
  }
}
