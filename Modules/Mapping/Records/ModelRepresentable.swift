/// A record that represents a model. The model and its record have the same uid.
public protocol ModelRepresentable: DataRecord {
  associatedtype ModelType: CoreModel where ModelType.UidType == UidType
}

/// A record that takes its values from a model: the write direction of a mapping by class.
public protocol RecordFromModel: ModelRepresentable {
  /// Assigns all attributes of the record from a model, including the uid.
  ///
  /// Assigning an equal value is no change, so that a save does not write the record of an equal model. An assigned
  /// date is rounded to the microsecond; a model fetched later has the rounded date.
  ///
  /// A save may call this method again after a lost race to another writer.
  ///
  /// - Throws: Any error. The save throws it, and saves nothing.
  func fromModel(_ model: ModelType) throws
}

/// A record that returns its values as a model: the read direction of a mapping by class.
public protocol RecordToModel: ModelRepresentable {
  /// Returns the model of the record.
  ///
  /// - Throws: Any error. The fetch throws it.
  func toModel() throws -> ModelType
}
