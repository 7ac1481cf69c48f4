/// The name that a model has for an entity, a property or a slot, with the names that earlier models had.
struct RenamedName {
  let name: String
  /// The names in earlier models, the latest first.
  let formerNames: [String]

  /// A name of a store, with the names that other models have for the same thing.
  typealias Stored = (name: String, formerNames: [String]?)

  /// The index of the stored name that stands for the same thing: one of the former names, the latest first; without
  /// one, a name that another model has renamed.
  ///
  /// - Parameter declared: The names that the model declares. A stored name among them belongs to its own declaration
  ///   and is no candidate.
  func index(among stored: [Stored], besides declared: Set<String>) -> Int? {
    let candidates = stored.indices.filter { !declared.contains(stored[$0].name) }
    for former in formerNames {
      if let index = candidates.first(where: { stored[$0].name == former }) { return index }
    }
    for modelName in [name] + formerNames {
      if let index = candidates.first(where: { stored[$0].formerNames?.contains(modelName) == true }) { return index }
    }
    return nil
  }
}
