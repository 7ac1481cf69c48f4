/// A record that stands for a model.
///
/// Both have uids of one type: what tells the model apart tells its record apart.
public protocol ModelRepresentable: DataRecord {
  associatedtype ModelType: CoreModel where ModelType.UidType == UidType
}

/// A record that takes its values from a model.
public protocol RecordFromModel: ModelRepresentable {
  /// Sets the record's attributes from a model, the uid too. Writing an attribute that has the value already changes
  /// nothing, so that a record of an equal model is not written. A date is rounded to the microsecond when it is assigned:
  /// a model that is made of the record has the rounded date, which the model that was saved need not have.
  ///
  /// - Throws: Whatever keeps the model from being a record; the save fails with it and nothing is saved.
  func fromModel(_ model: ModelType) throws
}

/// A record that a model can be made of.
public protocol RecordToModel: ModelRepresentable {
  /// Makes the model.
  ///
  /// - Throws: Whatever keeps the record from being a model; the fetch fails with it.
  func toModel() throws -> ModelType
}
