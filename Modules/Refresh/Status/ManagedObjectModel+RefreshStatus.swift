public import CoherenceCore

extension ManagedObjectModel {
  /// Returns a model that also has the entity of ``RefreshStatus``, in every configuration, so that each store keeps
  /// the statuses of its entities. Returns this model if it already has the entity.
  ///
  /// A store from an earlier model without the entity gets its table when the store is attached.
  ///
  /// - Throws: ``ErrorCode/invalidModel`` when the model has another entity of the same name.
  public func addingRefreshStatus() throws -> ManagedObjectModel { try adding([RefreshStatusRecord.declaration]) }
}

extension EntityDescription {
  /// The key of `userInfo` with the number of seconds after which the entity's data is stale.
  public static let stalenessSetting = "stalenessInterval"

  /// The time after which data of the entity is stale, from the value for `stalenessSetting` in `userInfo`. An entity
  /// without the value inherits the value of its nearest ancestor. `nil` without a value, and for any text but a
  /// positive number of seconds below 10¹².
  public var stalenessInterval: Duration? {
    guard let text = userInfo[Self.stalenessSetting] else { return superentity?.stalenessInterval }
    guard let seconds = Double(text), seconds > 0, seconds < 1e12 else { return nil }
    return .seconds(seconds)
  }
}
