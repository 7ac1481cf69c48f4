public import CoherenceCore

extension ManagedObjectModel {
  /// Returns the model with the entity of ``RefreshStatus``, in every configuration, so that each store keeps the statuses
  /// of its entities. Returns the model itself when it has the entity already.
  ///
  /// A store without the entity gets its table when it is attached with the model, as for every added entity.
  ///
  /// - Throws: ``ErrorCode/invalidModel`` when the model has another entity of the same name.
  public func addingRefreshStatus() throws -> ManagedObjectModel { try adding([RefreshStatusRecord.declaration]) }
}

extension EntityDescription {
  /// The key of `userInfo` with the number of seconds after which the entity's data is stale.
  public static let stalenessSetting = "stalenessInterval"

  /// The time after which data of the entity is stale: `userInfo` with `stalenessSetting` of the entity or its nearest
  /// ancestor with the setting. `nil` without the setting, and for other texts than a positive number of seconds.
  public var stalenessInterval: Duration? {
    guard let text = userInfo[Self.stalenessSetting] else { return superentity?.stalenessInterval }
    guard let seconds = Double(text), seconds > 0, seconds < 1e12 else { return nil }
    return .seconds(seconds)
  }
}
