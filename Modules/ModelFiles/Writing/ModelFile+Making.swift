public import CoherenceCore

extension ModelFile {
  /// Makes the file of a model, so that a model made in code opens in Xcode.
  ///
  /// The model of the file equals the original: entities, types, defaults, rules, constraints, indexes and former
  /// names. Features that the editor of Xcode does not have stand in the user info, under keys that begin with
  /// `coherence.`: enumerations, `Codable` values, weak references, defaults of data, and further former names.
  /// ``omissions`` lists the parts without a place in a file: conversions of stored values, a second rule of one kind
  /// for an attribute, a derivation from a property whose name no expression can have, the order of a fetched property,
  /// and further version identifiers.
  public init(_ model: ManagedObjectModel) {
    self.init(name: model.name)
    var maker = FileMaker(model)
    entities = model.entities.map { maker.entity($0) }
    composites = maker.composites
    configurations = model.configurations.map { name in
      Configuration(name, entities: model.entities(forConfigurationName: name)!.map(\.name))
    }
    let versions = model.versionIdentifiers.sorted()
    versionIdentifier = versions.first
    omissions = maker.omissions
    if versions.count > 1 {
      omissions.append("The file has the version identifier '\(versions[0])' only, of \(versions.count).")
    }
  }
}
