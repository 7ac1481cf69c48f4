import CoherenceModelFiles

extension ModelFile {
  /// The file without the parts that sources express, or about which the generator has sentences of its own. Its
  /// warnings are about settings that neither a model nor a source has.
  var withoutReportedParts: ModelFile {
    var file = self
    file.fetchRequests = []
    for index in file.entities.indices {
      file.entities[index].attributes = entities[index].attributes
        .filter { !$0.isTransient && (ValueCode($0.kind).type != nil || $0.kind == .composite) }
        .map {
          var attribute = $0
          attribute.derivation = nil
          return attribute
        }
      file.entities[index].relationships.removeAll(where: \.isTransient)
      file.entities[index].fetchedProperties = []
      file.entities[index].indexes = []
    }
    return file
  }
}
