import CoherenceModelFiles

extension ModelFile {
  /// The file without the parts that a built model leaves out or changes, and that the generator writes in another way
  /// or reports with warnings of its own. The warnings of the reduced file therefore hold for the sources too: they are
  /// about settings that neither a model nor a source can express.
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
